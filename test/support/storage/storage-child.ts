import { fileStorage } from '../../../adapters/storage/file.js'
import { notes } from './storage-model.js'

/**
 * A process that writes as fast as it can, and says each number once its commit is promised. Each commit moves one from
 * the row `left` to the row `right` and puts a note of its own, so that half of one shows. With `idle` it only opens.
 */
const storage = await fileStorage({ file: process.argv[2] as string, journalLimit: 20_000 })
process.stdout.write('open\n')

async function keepWriting(): Promise<never> {
  for (;;) {
    const number = await storage.write(async (tx) => {
      const id = await tx.nextId('notes')
      const left = (await tx.get(notes, 'left'))?.rank as number | undefined
      const right = (await tx.get(notes, 'right'))?.rank as number | undefined
      tx.put(notes, { id: 'left', rank: (left ?? 0) - 1 })
      tx.put(notes, { id, body: 'x'.repeat(id % 700) })
      tx.put(notes, { id: 'right', rank: (right ?? 0) + 1 })
      return id
    })
    process.stdout.write(`${number}\n`)
  }
}

if (process.argv[3] === 'idle') setInterval(() => {}, 60_000)
else for (let writer = 0; writer < 32; writer++) void keepWriting()
