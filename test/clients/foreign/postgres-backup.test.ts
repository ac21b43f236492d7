import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { run } from '../support/toolchain.js'

const drill = fileURLToPath(new URL('../../../scripts/drill-postgres.mjs', import.meta.url))

it('pg_dump and pg_restore bring back every payment of three processes', async (context) => {
  const { code, output } = await run([process.execPath, drill])
  if (code === 3) return context.skip(`not run: ${output.trim()}`)
  expect(code, output).toBe(0)
  expect(output).toMatch(/^All 60 payments from before the dump are there, and the ledger is correct\./m)
})
