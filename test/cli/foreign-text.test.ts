import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { serve } from '../../adapters/node.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { asJson, asText } from '../../sandbox/commands/start.js'
import { readSettings } from '../../sandbox/config.js'
import { program, runProgram } from '../../sandbox/program.js'
import { startSandbox } from '../../sandbox/sandbox.js'
import { printLine } from '../../sandbox/terminal.js'
import { caller } from '../support/api.js'
import { howMuch, isWhole } from '../support/how-much.js'
import { HOSTILE, hostileService, sendHostileText, UNSEEN, unseenIn } from '../support/scenes/foreign-text.js'

/** What commands print is seen by a terminal: texts of others in it show every character. */

const root = join(import.meta.dirname, '../..')

/** The paths of the command line's own sources. */
const sources = async (): Promise<string[]> =>
  (await readdir(join(root, 'sandbox'), { recursive: true })).filter((name) =>
    /^((?!demo\/|pages\/|phone\/).)*\.tsx?$/.test(name),
  )

test('commands write to a terminal in one place', async () => {
  const writing: string[] = []
  for (const name of await sources())
    if (/process\.std(out|err)\.write|console\.\w+\(/.test(await readFile(join(root, 'sandbox', name), 'utf8')))
      writing.push(name)
  expect(writing).toEqual(['terminal.ts'])
})

/** A directory, a served sandbox full of hostile text, and what commands print. */
async function start() {
  const directory = await mkdtemp(join(tmpdir(), 'farthing-foreign-'))
  const file = join(directory, 'data.json')
  const service = hostileService({ storage: await fileStorage({ file }) })
  const served = await serve(service, { port: 0 })
  let isOpen = true
  const close = async () => {
    if (!isOpen) return
    isOpen = false
    await served.close()
    await service.close()
  }
  onTestFinished(async () => {
    await close()
    await rm(directory, { recursive: true })
  })
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const { seller } = await sendHostileText(call)
  const printed: string[] = []
  for (const stream of [process.stdout, process.stderr]) {
    const spy = vi.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
    onTestFinished(() => spy.mockRestore())
  }
  const { exitCode } = process
  onTestFinished(() => {
    process.exitCode = exitCode
  })
  return { directory, file, url: served.url, seller, call, close, printed }
}

type Started = Awaited<ReturnType<typeof start>>

/** Writes a file of others. Returns its path. */
async function written({ directory }: Started, name: string, text: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, text)
  return path
}

const json = JSON.stringify({ [HOSTILE]: HOSTILE })
const openapi = JSON.stringify({
  openapi: '3.1.0',
  servers: [{ url: HOSTILE }],
  paths: {
    [`/${HOSTILE}`]: {
      get: {
        operationId: HOSTILE,
        parameters: [{ in: 'query', name: HOSTILE, schema: { type: HOSTILE } }],
        responses: { [HOSTILE]: { description: HOSTILE }, 200: { description: HOSTILE } },
      },
    },
    '/v4/dq': { get: { parameters: [{ in: 'query', name: HOSTILE, schema: { type: 'string' } }], responses: {} } },
  },
})
const har = JSON.stringify({
  log: {
    entries: [
      {
        request: { method: 'GET', url: `http://a.example.test/v4/${encodeURIComponent(HOSTILE)}`, headers: [] },
        response: { status: 200, content: { mimeType: 'application/json', text: json } },
      },
    ],
  },
})

/** What differs from ours in nothing, and in one type. */
async function ownDocuments(given: Started): Promise<string[][]> {
  const own = await (await fetch(`${given.url}/v4/openapi.json`)).text()
  return [
    ['diff', await written(given, 'own.json', own)],
    ['diff', await written(given, 'changed.json', own.replace('"boolean"', '"string"'))],
  ]
}

/** Pays once, and prints what others wrote. */
const FACILITATED = `fetch(process.env.FACILITATOR_URL + '/x402/settle', { method: 'POST', body: ${JSON.stringify(json)} })
  .then(() => { throw new Error(${JSON.stringify(HOSTILE)}) })`

/** Command lines of each command that meet texts of others. Those that serve, or run another program, are tested apart. */
const lines: Readonly<Record<string, (given: Started) => Promise<readonly (readonly string[])[]>>> = {
  export: async ({ file }) => [
    ['export', `${file}.key/${HOSTILE}`, '--data', file],
    ['export', HOSTILE, '--data', HOSTILE],
  ],
  import: async (given) => [
    ['import', await written(given, 'state.json', json), '--data', given.file],
    ['import', '--binder', await written(given, 'a.csv', `${HOSTILE},b\n`), '--twin', HOSTILE, '--data', given.file],
    ['import', HOSTILE],
  ],
  migrate: async (given) => [
    ['migrate', '--check', await written(given, 'old.json', json)],
    ['migrate', '--check', await written(given, 'older.json', `{"schema":1,"counters":{},"rows":${json}}`)],
    ['migrate', '--check', HOSTILE],
  ],
  verify: async (given) => [
    ['verify', given.file],
    ['verify', await written(given, 'broken.json', `{"farthing":${json}}\n${HOSTILE}`)],
    ['verify', HOSTILE],
  ],
  backup: async ({ file }) => [
    ['backup', file, `${file}.copy`],
    ['backup', HOSTILE, HOSTILE],
  ],
  repair: async (given) => [
    ['repair', given.file, `${given.file}.repaired`],
    ['repair', await written(given, 'torn.json', HOSTILE), `${given.file}.fixed`],
  ],
  openapi: async () => [...howMuch([], [['openapi']]), ['openapi', '--base-url', HOSTILE]],
  diff: async (given) => [
    ['diff', await written(given, 'api.json', openapi)],
    ['diff', await written(given, 'api.json', openapi), '--json'],
    ['diff', await written(given, 'session.har', har)],
    ...(isWhole ? await ownDocuments(given) : []),
    ['diff', await written(given, 'other.yaml', `openapi: ${HOSTILE}`)],
    ['diff', await written(given, 'none.json', json)],
    ['diff', `${given.url}/v4/nowhere/${HOSTILE}`],
  ],
  init: async () => [['init', HOSTILE, '--unknown', HOSTILE]],
  trigger: async ({ url, seller }) => [
    ['trigger', HOSTILE, '--url', url],
    ['trigger', 'client.x', '--url', url, '--client-id', seller.clientId, '--client-secret', seller.clientSecret],
    ['trigger', 'client.x', '--url', url, '--client-id', '\x9b31m', '--client-secret', 'x'],
    ['trigger', 'client.x', '--url', HOSTILE],
  ],
  fund: async ({ url }) => [
    ['fund', `0x${'1'.repeat(40)}`, '5', '--url', url],
    ['fund', HOSTILE, '5', '--url', url],
    ['fund', 'x', HOSTILE, '--url', url],
    ['fund', 'x', '5', '--url', HOSTILE],
  ],
  x402: async ({ url }) => [
    ['x402', 'env', '--url', url],
    ['x402', HOSTILE],
    ['x402', 'env', '--url', HOSTILE],
  ],
  // What it would say of a sandbox that it resets is the address that it was given.
  reset: async () => [['reset', '--url', HOSTILE]],
  requests: async ({ url }) => [
    ['requests', '--url', url, '--limit', '100'],
    ['requests', '--url', url, '--json'],
    ['requests', 'last', '--url', url],
    ['requests', 'last-error', '--url', url],
    ['requests', HOSTILE, '--url', url],
    ...['curl', 'http', 'har', 'vitest'].map((format) => ['requests', 'last', '--url', url, '--as', format]),
  ],
  explain: async ({ url }) => [
    ['explain', 'last-error', '--url', url],
    ['explain', 'last', '--json', '--url', url],
    ['explain', HOSTILE, '--url', url],
  ],
  replay: async ({ url }) => [
    ['replay', 'last', '--diff', '--url', url],
    ['replay', 'last', '--json', '--url', url],
  ],
  rehearse: async () => [
    ['rehearse', '--budget', HOSTILE, '--', HOSTILE],
    ['rehearse', '--as', HOSTILE, '--', HOSTILE],
    ['rehearse', '--', process.execPath, '-e', `throw ${JSON.stringify(HOSTILE)}`, HOSTILE],
  ],
  proxy: async (given) => [
    ['proxy', '--to', HOSTILE, '--profile', 'stripe'],
    ['proxy', '--to', given.url, '--profile', HOSTILE],
    ['proxy', '--to', given.url, '--profile', `./${HOSTILE}`],
    ['proxy', '--to', given.url, '--profile', await written(given, 'profile.json', json)],
    ['proxy', '--to', given.url, '--profile', 'stripe', '--fault', HOSTILE],
    ['proxy', '--to', given.url, '--profile', 'stripe', '--host', HOSTILE],
    ['rehearse', '--to', given.url, '--profile', 'x402', '--', process.execPath, '-e', FACILITATED],
  ],
  completion: async () => [
    ['completion', 'bash'],
    ['completion', HOSTILE],
  ],
}

/** How each of these lines ends. 0: done. 1: what was looked for is there. 2: refused, or files are damaged. */
const exitCodes: Readonly<Record<keyof typeof lines, string>> = {
  ...{ export: '22', import: '222', migrate: '222', verify: '022', backup: '02', repair: '02' },
  ...{
    openapi: howMuch('2', '02'),
    diff: howMuch('111222', '11101222'),
    init: '2',
    trigger: '2022',
    fund: '0222',
    x402: '222',
    reset: '2',
  },
  ...{ requests: '000020000', explain: '002', replay: '00', rehearse: '222', proxy: '2222222', completion: '02' },
}

/** They serve until a signal, or print nothing of their own. */
const apart = ['start', 'exec', 'listen', 'mcp']

test('no command prints an unseen character of others, and each ends with its code', { timeout: 120_000 }, async () => {
  expect([...Object.keys(lines), ...apart].sort()).toEqual(
    program()
      .commands.map((command) => command.name())
      .sort(),
  )
  const started = await start()
  const codes: Record<string, string> = {}
  const ofFiles = new Set(['export', 'import', 'migrate', 'verify', 'backup', 'repair'])
  for (const [name, argumentsOf] of Object.entries(lines).sort(
    ([one], [other]) => Number(ofFiles.has(one)) - Number(ofFiles.has(other)),
  )) {
    if (ofFiles.has(name)) await started.close()
    for (const given of await argumentsOf(started)) {
      started.printed.length = 0
      process.exitCode = 0
      await runProgram(given)
      codes[name] = `${codes[name] ?? ''}${process.exitCode}`
      const text = started.printed.join('')
      expect(text, given.join(' ')).not.toBe('')
      expect(unseenIn(text, { isDocument: true }), given.join(' ')).toEqual([])
      for (const line of text.split('\n')) expect(line, given.join(' ')).not.toMatch(/^\s*(Ignore|farthing: run)/)
    }
  }
  expect(codes).toEqual(exitCodes)
})

test('the lines of a start show the names of a seed with every character', async () => {
  const seed = { accounts: [{ name: 'Kiosk' }], users: [{ email: 'ada@example.test' }] }
  const settings = await readSettings({
    flags: { memory: true, port: '0', controlToken: 'a-token' },
    environment: {},
    directory: tmpdir(),
  })
  const sandbox = await startSandbox({ ...settings, seed }, { warn: () => {} })
  onTestFinished(() => sandbox.close())
  const { credentials } = sandbox
  const hostile = {
    ...sandbox,
    url: `${sandbox.url}/${HOSTILE}`,
    credentials: JSON.parse(JSON.stringify(credentials), (_, value) => (typeof value === 'string' ? HOSTILE : value)),
  }
  const text = asText(hostile, { ...settings, data: HOSTILE }, {})
  expect(unseenIn(text, { isDocument: true })).toEqual([])
  const printed: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((line) => printed.push(String(line)) > 0)
  onTestFinished(() => spy.mockRestore())
  printLine(asJson(hostile, settings))
  expect(unseenIn(printed.join('').trimEnd())).toEqual([])
  expect(JSON.parse(printed.join('')).accounts[0].name).toBe(HOSTILE)
})

test.each(UNSEEN.map((text) => [JSON.stringify(text), text] as const))('a line shows %s as an escape', (_, text) => {
  const printed: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((line) => printed.push(String(line)) > 0)
  onTestFinished(() => spy.mockRestore())
  printLine(`a${text}b`)
  expect(printed.join('')).toMatch(/^a.*(\\u[0-9a-f]{4}|\\[nrt]).*b\n$/)
  expect(unseenIn(printed.join('').slice(0, -1))).toEqual([])
})
