import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { TestContext } from 'vitest'

/**
 * What tests in `test/clients/foreign/` need beyond the lock file: commands of other languages, and packages that are
 * installed when a test first needs them. `npm run test:all` runs these tests.
 */

/** Where packages are installed. Git ignores it. */
const folder = fileURLToPath(new URL('../../../.clients/', import.meta.url))

export const npm = [process.platform === 'win32' ? 'npm.cmd' : 'npm']

/** The toolchain of a test is not here. The message says what is missing. */
class NotHere extends Error {}

/**
 * The toolchain of a test. If it is not here, the test ends as "not run" with the reason, and `npm run test:all` lists it.
 * Other failures, such as an unknown version, fail the test.
 */
export async function need<T>(context: TestContext, toolchain: Promise<T>): Promise<T> {
  try {
    return await toolchain
  } catch (error) {
    if (error instanceof NotHere) return context.skip(`not run: ${error.message}`)
    throw error
  }
}

/** Resolves if a command exists. */
export async function command(name: string, args: readonly string[] = ['--version']): Promise<void> {
  const { code } = await run([name, ...args])
  if (code !== 0) throw new NotHere(`${[name, ...args].join(' ')} does not run here.`)
}

/** The Firefox of `FIREFOX_PATH`, else an installed one. */
export async function firefox(): Promise<string> {
  const { FIREFOX_PATH } = process.env
  const names = ['firefox', 'firefox-esr', '/Applications/Firefox.app/Contents/MacOS/firefox']
  for (const name of FIREFOX_PATH ? [FIREFOX_PATH] : names)
    if ((await run([name, '--version'])).code === 0)
      // Puppeteer takes no name.
      return isAbsolute(name) ? name : (await run(['which', name])).output.trim()
  throw new NotHere('Firefox does not run here. Install it, or set FIREFOX_PATH.')
}

/** Installs npm packages of exact versions in a folder of their own. Returns the folder: `importFrom` loads a module of it. */
export function npmPackages(name: string, packages: Readonly<Record<string, string>>): Promise<string> {
  const wanted = Object.entries(packages).map(([id, version]) => `${id}@${version}`)
  return installed(name, wanted, async (place) => {
    writeFileSync(join(place, 'package.json'), JSON.stringify({ private: true, type: 'module' }))
    await npmInstall(place, wanted)
    mkdirSync(join(place, 'node_modules', 'importer'), { recursive: true })
    writeFileSync(join(place, IMPORTER), 'export default (id) => import(id)')
  })
}

/** Installs npm packages in a folder that has a `package.json`, and whatever that names. Each is a name with its version, or a file. */
export async function npmInstall(place: string, wanted: readonly string[], env: RunOptions['env'] = {}): Promise<void> {
  const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']
  expectInstalled(wanted, await run([...npm, 'install', ...flags, ...wanted], { cwd: place, env }))
}

/** Inside of `node_modules`, so that Vitest leaves it to Node. */
const IMPORTER = join('node_modules', 'importer', 'index.mjs')

/** Imports a module of packages that `npmPackages` installed. Its types are not here, so `T` says what the test uses. */
export async function importFrom<T>(installed: string, id: string): Promise<T> {
  const { default: importer } = await import(/* @vite-ignore */ pathToFileURL(join(installed, IMPORTER)).href)
  return importer(id)
}

/** Installs Python packages of exact versions in a folder of their own. Returns the folder: set it as `PYTHONPATH`. */
export async function pythonPackages(name: string, packages: Readonly<Record<string, string>>): Promise<string> {
  await command('python3', ['-m', 'pip', '--version'])
  const wanted = Object.entries(packages).map(([id, version]) => `${id}==${version}`)
  const pip = ['python3', '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--retries=2']
  return installed(name, wanted, async (place) => {
    expectInstalled(wanted, await run([...pip, '--target', place, ...wanted]))
  })
}

function expectInstalled(wanted: readonly string[], { code, output }: Ended): void {
  if (code !== 0 && OFFLINE.test(output)) throw new NotHere(`the registry of ${wanted.join(', ')} cannot be reached.`)
  if (code !== 0) throw new Error(`${wanted.join(', ')} cannot be installed:\n${output}`)
}

/** The same packages are installed once. A folder appears under its name only when it is complete. */
async function installed(name: string, wanted: string[], install: (place: string) => Promise<void>): Promise<string> {
  const place = join(folder, `${name}-${wanted.join('-').replaceAll(/[^\w.@=-]+/g, '_')}`.slice(0, 200))
  if (existsSync(place)) return place
  const made = `${place}.${process.pid}`
  mkdirSync(made, { recursive: true })
  try {
    await install(made)
    if (!existsSync(place)) renameSync(made, place)
    return place
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

/** The codes of npm, and what pip says of a package that no index has. */
const OFFLINE =
  /code (E?NOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)|from versions: none/

export interface Ended {
  /** Null if the command does not exist, or if a signal ended it. */
  readonly code: number | null
  /** stdout and stderr. */
  readonly output: string
}

export interface RunOptions {
  readonly cwd?: string
  /** Added to the environment. A variable that is undefined is taken out of it. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** After so many milliseconds, SIGTERM ends it. Default: never. */
  readonly timeout?: number
  /** Gets each line of stdout. What it returns is sent to stdin as a line. */
  readonly answer?: (line: string) => Promise<string> | undefined
}

/** Runs a command to its end. */
export function run(
  [file = '', ...args]: readonly string[],
  { env = {}, answer = () => undefined, ...options }: RunOptions = {},
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, env: { ...process.env, ...env }, shell: file.endsWith('.cmd') })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text))
    createInterface(child.stdout).on('line', (line) => {
      const answered = answer(line)
      answered?.then((text) => child.stdin.write(`${text}\n`)).catch((error) => child.kill() && reject(error))
    })
    child.on('error', (error) => resolve({ code: null, output: error.message }))
    child.on('close', (code) => resolve({ code, output }))
  })
}
