import { mkdtempSync, rmSync } from 'node:fs'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, onTestFinished, type TestContext } from 'vitest'
import { VERSION } from '../../src/base/version.js'
import { need, npm, npmInstall, run } from '../clients/support/toolchain.js'

/**
 * The package as others get it: packed from `dist/`, which `npm run test:all` builds first, and installed outside of this
 * project, so that a folder finds only what it installs itself.
 */

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Returns the file that npm would publish. It is packed when the first test asks, and removed after the last. */
export function packed(): () => Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-packed-'))
  let packing: Promise<string> | undefined
  afterAll(() => rmSync(folder, { recursive: true }))
  return () => (packing ??= pack(folder))
}

async function pack(folder: string): Promise<string> {
  const asked = [...npm, 'pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  const { code, output } = await run(asked, { cwd: root })
  if (code !== 0) throw new Error(`The package cannot be packed:\n${output}`)
  return join(folder, `farthing-${VERSION}.tgz`)
}

export interface Project {
  readonly folder: string
  /** Runs a command of the project. Throws what it printed if its exit code is not 0. Returns what it printed otherwise. */
  run(command: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
}

/**
 * A new folder in which npm packages are installed. It is a copy of the folder `from`, with what its `package.json` names,
 * or else empty. It is removed when the test ends.
 */
export async function project(context: TestContext, wanted: readonly string[], from?: string): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-project-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  if (from) await cp(from, folder, { recursive: true, filter: (path) => !UNCOPIED.test(path) })
  else await writeFile(join(folder, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
  await need(context, npmInstall(folder, wanted, outerEnvironment))
  return {
    folder,
    async run(command, env = {}) {
      const { code, output } = await run(command, {
        cwd: folder,
        env: { ...outerEnvironment, ...env },
        timeout: LONGEST_MS,
      })
      if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}:\n${output}`)
      return output
    },
  }
}

/** What has not ended by then hangs, and would outlive its test. */
const LONGEST_MS = 600_000

/** What someone left in the folder who tried it there. */
const UNCOPIED = /[\\/](node_modules|\.next|dist|package-lock\.json)$/

/** The variables that this run itself has for its tests and its npm script, which a project of others would not have. */
export const outerEnvironment = Object.fromEntries(
  Object.keys(process.env)
    .filter((name) =>
      /^(NODE_ENV|NODE_OPTIONS|TEST|PROD|DEV|MODE|SSR|BASE_URL|INIT_CWD|(VITEST|FARTHING_|npm_(?!config_(?!local_))).*)$/.test(
        name,
      ),
    )
    .map((name) => [name, undefined]),
)
