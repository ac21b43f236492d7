// Stands in for the commands of the documentation. `farthing` is the built one where it starts a sandbox, which is stopped
// once it listens if it serves until then. What else it does, it does in the process of the tests (`commands-here.ts`).
// Nothing is installed: packages and scripts must only exist.
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../../..', import.meta.url))
const command = join(root, 'dist', 'cli', 'farthing.js')
const [name, ...args] = process.argv.slice(2)

/** What a sandbox that the command starts would print goes to the command's output, so it is a process. */
const processes = ['exec']
const commands = [
  'init',
  'export',
  'import',
  'migrate',
  'verify',
  'backup',
  'repair',
  'openapi',
  'diff',
  'completion',
  'requests',
  'explain',
  'replay',
]

/** @param {readonly string[]} given */
function farthing(given) {
  const [verb = ''] = given
  if (commands.includes(verb)) return void askTests(given)
  const ends = processes.includes(verb) || given.some((arg) => /^(-h|--help|-v|--version)$/.test(arg))
  // Tests listen on this machine only.
  const safe = given.map((arg) => (arg === '0.0.0.0' ? '127.0.0.1' : arg))
  if (ends) {
    process.argv.splice(1, process.argv.length, command, ...safe)
    return void import(pathToFileURL(command).href)
  }
  const child = spawn(process.execPath, [command, ...safe], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, FARTHING_PORT: '0' },
  })
  child.stdout.on('data', (text) => {
    process.stdout.write(text)
    child.kill('SIGTERM')
  })
  child.once('close', end)
}

/** @param {readonly string[]} args */
async function askTests(args) {
  const connection = connect({ path: process.env.TESTS_SOCKET ?? '', allowHalfOpen: true })
  const own = Object.entries(process.env).filter(([name]) => /^(FARTHING|PORT$|XDG_)/.test(name))
  connection.end(JSON.stringify({ args, cwd: process.cwd(), env: Object.fromEntries(own) }))
  const { code, stdout, stderr } = JSON.parse(await text(connection))
  process.stdout.write(stdout)
  process.stderr.write(stderr)
  process.exitCode = code
}

/** @param {readonly string[]} given */
function npx([program = '', ...rest]) {
  if (program.startsWith('-')) return npx(rest)
  if (program === 'farthing') return farthing(rest)
  if (!isKnown(program) && !existsSync(join(root, 'node_modules', '.bin', program))) fail(`no package "${program}"`)
}

/** @param {readonly string[]} given */
function npm([verb = '', ...rest]) {
  const words = rest.filter((word) => !word.startsWith('-'))
  if (['install', 'i', 'add'].includes(verb)) {
    const unknown = words.map((word) => word.replace(/(?<=.)@.*$/, '')).filter((word) => !isKnown(word))
    if (unknown.length > 0) fail(`no package.json names ${unknown}`)
  } else if (['run', 'start', 'test'].includes(verb)) {
    const script = verb === 'run' ? words[0] : verb
    if (!manifests().some(({ scripts = {} }) => Object.hasOwn(scripts, script))) fail(`no script "${script}"`)
  } else if (!['init', 'ci', 'pkg', 'create'].includes(verb))
    fail(`npm ${verb}: teach this to test/support/docs/stand-in.mjs`)
}

/** Of the project, of its examples, and of what the page itself writes. */
function manifests() {
  const examples = join(root, 'examples')
  const names = existsSync(examples) ? readdirSync(examples).map((example) => join(examples, example)) : []
  return [root, process.cwd(), ...names]
    .map((folder) => join(folder, 'package.json'))
    .filter((path) => existsSync(path))
    .map((path) => JSON.parse(readFileSync(path, 'utf8')))
}

/** @param {string} packageName */
const isKnown = (packageName) =>
  manifests().some(({ name: own, dependencies, devDependencies, peerDependencies }) =>
    [own, ...[dependencies, devDependencies, peerDependencies].flatMap((names = {}) => Object.keys(names))].includes(
      packageName,
    ),
  )

/** @param {string} reason */
function fail(reason) {
  process.stderr.write(`${name} ${args.join(' ')}: ${reason}\n`)
  process.exit(1)
}

/** @param {number | null} code */
function end(code) {
  process.exit(code ?? 1)
}

if (name === 'farthing') farthing(args)
else if (name === 'npx') npx(args)
else if (name === 'npm') npm(args)
