import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { fullState } from '../support/storage/full-state.js'

/**
 * Writes the data file that this release keeps for those after it, and who is in it:
 * FARTHING_WRITE_STATE=v2 npx vitest run --project states
 */
it('writes a state of this release', async () => {
  const name = process.env.FARTHING_WRITE_STATE
  expect(name).toMatch(/^v\d+$/)
  const file = fileURLToPath(new URL(`${name}.json`, import.meta.url))
  const { state, facts } = await fullState()
  await rm(file, { force: true })
  const storage = await fileStorage({ file })
  await storage.import(state)
  await storage.close()
  await rm(`${file}.journal`, { force: true })
  await writeFile(fileURLToPath(new URL(`${name}.facts.json`, import.meta.url)), `${JSON.stringify(facts, null, 2)}\n`)
})
