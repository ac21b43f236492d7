import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

test('the drill of the guide restores every payment from before the backup', async () => {
  const drill = fileURLToPath(new URL('../../scripts/drill-restore.mjs', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [drill])
  expect(stdout).toBe('All 50 payments from before the backup are there, and the ledger is correct.\n')
})
