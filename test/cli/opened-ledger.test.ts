import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { balances } from '../../src/money/ledger/movement.js'
import { cli } from '../support/cli.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()

test('a start says when the ledger of its state is broken, and answers all the same', async () => {
  const file = join(farthing.directory, 'data.json')
  const sound = await startHere({ data: file })
  await sound.close()
  expect(sound.warnings).toEqual([])
  const storage = await fileStorage({ file })
  await storage.write(async (tx) => {
    const [balance] = await tx.find(balances, { index: 'id', prefix: [], limit: 1 })
    if (balance) tx.put(balances, { ...balance, amount: '1234567' })
  })
  await storage.close()
  const broken = await farthing.start(['--data', 'data.json'])
  const answer = await fetch(`${broken.url}/_sandbox/ledger`)
  expect((await answer.json()).ok).toBe(false)
  const { stderr } = await broken.stop()
  expect(stderr).toMatch(/^farthing: the ledger of this state is broken: .+ run farthing verify\.\n$/)
})
