import { rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { collections, SCHEMA } from '../../src/core.js'
import { rowShapes } from '../support/rules/row-shapes.js'
import { fullState } from '../support/storage/full-state.js'

const writeJson = (name: string, document: object) =>
  writeFile(new URL(name, import.meta.url), `${JSON.stringify(document, null, 2)}\n`)

/**
 * Writes the data file that this release keeps for those after it, who is in it, and the shapes of its rows:
 * FARTHING_WRITE_STATE=v2 npx vitest run --project states
 */
it('writes a state of this release', async () => {
  const name = `v${SCHEMA}`
  expect(process.env.FARTHING_WRITE_STATE).toBe(name)
  const file = fileURLToPath(new URL(`${name}.json`, import.meta.url))
  const { state, facts } = await fullState()
  await rm(file, { force: true })
  const storage = await fileStorage({ file })
  await storage.import(state)
  await storage.close()
  for (const end of ['journal', 'previous']) await rm(`${file}.${end}`, { force: true })
  await writeJson(`${name}.facts.json`, facts)
  await writeJson(
    `${name}.shapes.json`,
    rowShapes(fileURLToPath(new URL('../../src/features.ts', import.meta.url)), collections),
  )
})
