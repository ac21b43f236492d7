import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const script = fileURLToPath(new URL('../../scripts/setup.mjs', import.meta.url))

/**
 * Builds where the sources are newer, as `npm start` does. With `FARTHING_IS_BUILT`, the build of whoever set that is used:
 * a run on another Node would install everything again.
 */
export async function setUp(): Promise<void> {
  if (!process.env.FARTHING_IS_BUILT) await promisify(execFile)(process.execPath, [script])
}
