import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmod, chown, cp, mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Copy, DockerfileParser, type Instruction } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cli } from '../support/cli.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tested = cli()
const text = await readFile(join(root, 'scripts/publish/Containerfile'), 'utf8')
const file = DockerfileParser.parse(text)

/** The instructions that make the image: those of the last stage. */
const stages = file.getFROMs()
const last = stages.at(-1)?.getRange()?.start.line ?? 0
const instructions = file.getInstructions().filter((each) => (each.getRange()?.start.line ?? 0) >= last)

const named = (keyword: string): Instruction[] => instructions.filter((each) => each.getKeyword() === keyword)
/** The words of a command in JSON, which runs without a shell in between. */
function wordsOf(keyword: string): string[] {
  const [content = ''] = named(keyword).map((each) => each.getArgumentsContent() ?? '')
  return JSON.parse(content.slice(content.indexOf('[')))
}

test('the container file is well formed, and its image runs one process without root', () => {
  expect(validate(text)).toEqual([])
  expect(stages.map((stage) => stage.getImageTag())).not.toContain(null)
  expect(named('USER').map((each) => each.getArgumentsContent())).toEqual(['1000:1000'])
  expect(named('VOLUME').map((each) => each.getArgumentsContent())).toEqual(['/data'])
  expect(wordsOf('ENTRYPOINT')[0]).toBe('node')
  // What is not needed to build stays out, secrets and state included.
  expect(named('COPY').every((copy) => copy instanceof Copy && copy.getFromFlag()?.getValue() === 'build')).toBe(true)
})

/** Whether this machine gives a process its own processes and mounts. */
const isolates =
  process.platform === 'linux' &&
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--pid', '--fork', '--mount', '--mount-proc', 'mount', '-o', 'remount,ro,bind', '/']).status ===
    0

/** As the first process, as user 1000, with one folder that it can write. */
const container = [
  ...['unshare', '--pid', '--fork', '--kill-child', '--mount', '--mount-proc', 'sh', '-c'],
  'mount --bind "$PWD" "$PWD" && mount -o remount,ro,bind / && cd "$PWD" && exec setpriv --reuid=1000 --regid=1000 --clear-groups --no-new-privs "$@"',
  'sh',
]

test('its command serves, answers the health check, and saves its state at SIGTERM', async () => {
  const image = join(tested.directory, 'image')
  const data = join(image, 'data')
  for (const copy of named('COPY')) {
    const [from = '', to = ''] = copy.getArguments().map((word) => word.getValue())
    await cp(from.replace('/build', root), join(image, to), { recursive: true })
  }
  await mkdir(data)
  if (isolates) await chown(data, 1000, 1000)
  for (const folder of [tested.directory, image]) await chmod(folder, 0o755)
  const inImage = (word: string) =>
    word === 'node' ? process.execPath : word.replace(/^\/(?=farthing\/)/, `${image}/`)
  const settings = Object.fromEntries(
    named('ENV').flatMap((each) => each.getArguments().map((pair) => pair.getValue().split('='))),
  )
  const env = { PATH: process.env.PATH, ...settings, FARTHING_HOST: '127.0.0.1', FARTHING_PORT: '0' }
  const command = [...wordsOf('ENTRYPOINT'), ...wordsOf('CMD'), '--json'].map(inImage)
  const [program = '', ...args] = isolates ? [...container, ...command] : command
  const started = spawn(program, args, { cwd: data, env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void started.kill('SIGKILL'))
  const ended = new Promise<number | null>((resolve) => started.once('close', resolve))
  const line = await new Promise<string>((resolve) => started.stdout.once('data', (said) => resolve(String(said))))
  const { url, pid } = JSON.parse(line) as { url: string; pid: number }

  const [check = '', ...given] = wordsOf('HEALTHCHECK').map(inImage)
  const checked = { env: { ...env, FARTHING_PORT: new URL(url).port } }
  expect(spawnSync(check, given, checked).status).toBe(0)
  if (isolates) {
    expect(pid).toBe(1)
    expect(execFileSync('stat', ['--format=%u', `/proc/${first(started.pid)}`], { encoding: 'utf8' }).trim()).toBe(
      '1000',
    )
  }
  process.kill(isolates ? first(started.pid) : (started.pid ?? 0), 'SIGTERM')
  expect(await ended).toBe(0)
  expect(spawnSync(check, given, checked).status).toBe(1)
  await vi.waitFor(async () => expect(await readdir(join(data, '.farthing'))).toContain('data.json'))
})

/** The process that `unshare` started. */
const first = (parent = 0): number => Number(execFileSync('pgrep', ['--parent', String(parent)], { encoding: 'utf8' }))
