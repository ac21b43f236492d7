// Prepares a checkout: installs the dependencies of the lock file, and builds from the current sources. `--again` builds what
// is up to date too, as `npm run build` does.
// This is plain JavaScript without dependencies, because it runs before they are installed.
import { existsSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { withLock } from './lock.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const ofStart = ['cli', 'workbench', 'demo', 'demo-worker']
/**
 * What `npm start` and the tests need built, and a file that exists after the build. `builds`: the parts of tsdown.config.ts
 * that a process builds, and another beside it. Those with declarations are together, because they share their types.
 */
export const parts = {
  cli: { builds: [ofStart], shownBy: join(root, 'dist', 'cli', 'farthing.js') },
  all: {
    builds: [
      ['lib', 'testing', 'element'],
      [...ofStart, 'client', 'reference', 'agent-texts'],
    ],
    shownBy: join(root, 'dist', 'lib', 'index.js'),
  },
}
const lockFile = 'package-lock.json'
/** Everything that the package is built from. */
const sources = [
  'src',
  'adapters',
  'sandbox',
  'scripts',
  'examples',
  'package.json',
  lockFile,
  'tsconfig.json',
  'tsdown.config.ts',
]

/**
 * Installs and builds what is missing or out of date, or builds again. If that fails, it prints one line and ends the process.
 *
 * @param {keyof typeof parts} part
 */
export async function setUp(part, again = false) {
  try {
    checkNode(process.versions.node)
    if (!again && existsSync(parts[part].shownBy) && readStamp(part) === currentStamp()) return
    const waiting = () => tell('waiting for another setup of this folder')
    await withLock(join(root, '.setup.lock'), waiting, () => bringUpToDate(part, again))
  } catch (error) {
    process.stderr.write(`farthing: ${error.message}\n`)
    process.exit(1)
  }
}

/** @param {keyof typeof parts} part @param {boolean} again */
async function bringUpToDate(part, again) {
  const stamp = readStamp(part)
  const [installed, built] = [stamp.split('\n')[0], stamp.slice(stamp.indexOf('\n'))]
  const installs = installed !== installation() && !(samePlatform(installed) && isInstalled())
  if (installs) {
    tell('installing dependencies (npm ci)')
    await install()
  }
  const now = currentStamp()
  if (again || installs || !existsSync(parts[part].shownBy) || built !== now.slice(now.indexOf('\n'))) {
    tell('building')
    rmSync(stampOf(part), { force: true })
    await build(parts[part].builds)
  }
  writeFileSync(stampOf(part), now)
  if (part === 'all') writeFileSync(stampOf('cli'), now)
}

/** @param {string} version */
function checkNode(version) {
  const [major, minor] = version.split('.').map(Number)
  if (major < 20 || (major === 20 && minor < 19))
    throw new Error(`needs Node.js 20.19 or newer, but this is ${version}`)
}

/** Identifies an installation and a build: the platform and the lock file on the first line, then every source. */
const currentStamp = () => [installation(), ...sources.flatMap(fingerprints)].join('\n')
/** @param {keyof typeof parts} part */
const stampOf = (part) => join(root, 'node_modules', `.farthing-${part}`)
/** @param {keyof typeof parts} part */
const readStamp = (part) => (existsSync(stampOf(part)) ? readFileSync(stampOf(part), 'utf8') : '')
const installation = () => `${platform} ${fingerprint(lockFile)}`
const platform = `${process.platform}-${process.arch}-node${process.versions.node.split('.')[0]}`
/** @param {string} installed */
const samePlatform = (installed) => installed === '' || installed.startsWith(`${platform} `)

/** @param {string} path @returns {string[]} */
function fingerprints(path) {
  if (!existsSync(join(root, path))) return []
  if (!statSync(join(root, path)).isDirectory()) return [fingerprint(path)]
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    const inner = `${path}/${entry.name}`
    return entry.isDirectory() ? fingerprints(inner) : [fingerprint(inner)]
  })
}

/** @param {string} path */
function fingerprint(path) {
  const { size, mtimeMs } = statSync(join(root, path))
  return `${path} ${size} ${mtimeMs}`
}

/** Whether node_modules has what the lock file names, for example after an `npm install` by hand. */
function isInstalled() {
  const hidden = join(root, 'node_modules', '.package-lock.json')
  if (!existsSync(hidden)) return false
  const found = JSON.parse(readFileSync(hidden, 'utf8')).packages
  const wanted = JSON.parse(readFileSync(join(root, lockFile), 'utf8')).packages
  return Object.entries(wanted).every(([path, { version, integrity, optional }]) => {
    if (path === '') return true
    const there = found[path]
    return there === undefined ? optional === true : there.version === version && there.integrity === integrity
  })
}

/** Gives up on an unreachable registry within seconds. npm's defaults take minutes. */
const retries = ['--fetch-retries=2', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=5000']

async function install() {
  const flags = ['--include=dev', '--no-audit', '--no-fund', '--prefer-offline', ...retries]
  const { code, output } = await run(npm(), ['ci', ...flags])
  if (code === 0) return
  const npmCode = /npm error code (\S+)/.exec(output)?.[1] ?? `exit ${code}`
  if (/^(E?NOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)$/.test(npmCode))
    throw new Error(`cannot reach the npm registry (${npmCode}). Connect to the network and try again.`)
  const reason = /npm error (?!code |errno |syscall )(.+)/.exec(output)?.[1] ?? 'no reason given'
  throw new Error(`npm ci failed (${npmCode}): ${reason}`)
}

/** @param {string[][]} builds */
async function build(builds) {
  const tsdown = join(root, 'node_modules', 'tsdown', 'dist', 'run.mjs')
  const results = await Promise.all(
    builds.map((names) => {
      const filters = names.flatMap((name) => ['--filter', name])
      return run([process.execPath], [tsdown, '--config-loader', 'unrun', ...filters])
    }),
  )
  const failed = results.filter(({ code }) => code !== 0)
  if (failed.length === 0) return
  for (const { output } of failed) process.stderr.write(output)
  throw new Error('the build failed, see above')
}

/** The npm that runs this script, or the one on the PATH. */
export function npm() {
  const own = process.env.npm_execpath
  if (own?.endsWith('npm-cli.js') && existsSync(own)) return [process.execPath, own]
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm']
}

/** @param {string[]} command @param {string[]} args @returns {Promise<{ code: number | null, output: string }>} */
async function run([file, ...first], args) {
  const { spawn } = await import('node:child_process')
  return new Promise((resolve) => {
    const child = spawn(file, [...first, ...args], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: file.endsWith('.cmd'),
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', (error) => resolve({ code: null, output: `npm error ${error.message}` }))
    child.on('close', (code) => resolve({ code, output }))
  })
}

/** Prints progress to stderr, because stdout belongs to the command. @param {string} step */
const tell = (step) => process.stderr.write(`farthing: ${step}\n`)

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url))
  await setUp('all', process.argv.includes('--again'))
