import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type Served, serve } from '../../adapters/node.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { program, runProgram } from '../../sandbox/program.js'
import { createService, type Service } from '../../src/index.js'

/** 0: done. 1: what was looked for is there, or a disk fails. 2: refused, or a file is damaged. */
type Code = 0 | 1 | 2

let directory = ''
let url = ''
let running: readonly [Service, Served]
const at = (name: string) => join(directory, name)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'farthing-exit-'))
  const stored = createService({ storage: await fileStorage({ file: at('data.json') }), sandbox: true })
  await stored.sandbox.seed({ accounts: [{ name: 'Shop' }], users: [{ email: 'ada@example.test' }] })
  await stored.close()
  const text = await readFile(at('data.json'), 'utf8')
  await writeFile(at('damaged.json'), text.replace('ada@', 'eve@'))
  await writeFile(
    at('other.json'),
    JSON.stringify({ openapi: '3.1.0', paths: { '/v4/dq': { put: { responses: {} } } } }),
  )
  await writeFile(at('nothing.txt'), 'just a text')
  const service = createService({ sandbox: true })
  const { body } = await service.fetch(new Request(`${service.baseUrl}/v4/openapi.json`))
  await writeFile(at('openapi.json'), body ?? '')
  running = [service, await serve(service, { port: 0 })]
  url = running[1].url
  await fetch(`${url}/v4/dq`)
  await fetch(`${url}/v4/account`)
})

afterAll(async () => {
  const [service, served] = running
  await served.close()
  await service.close()
  await rm(directory, { recursive: true })
})

/** Command lines, by how they end. Every command has some of each of its codes, or is named below. */
const lines: Readonly<Record<string, () => readonly (readonly [Code, ...string[]])[]>> = {
  export: () => [
    [0, at('state.json'), '--data', at('data.json')],
    [2, at('state.json'), '--data', at('gone.json')],
  ],
  import: () => [
    [0, at('state.json'), '--data', at('imported.json')],
    [2, at('gone.json'), '--data', at('imported.json')],
    [2, at('nothing.txt'), '--data', at('imported.json')],
  ],
  migrate: () => [
    [0, '--check', at('data.json')],
    [2, '--check', at('nothing.txt')],
    [2, at('data.json')],
  ],
  verify: () => [
    [0, at('data.json')],
    [2, at('damaged.json')],
    [2, at('gone.json')],
  ],
  backup: () => [
    [0, at('data.json'), at('copy.json')],
    [2, at('data.json'), at('copy.json')],
    [2, at('gone.json'), at('other-copy.json')],
  ],
  repair: () => [
    [0, at('data.json'), at('repaired.json')],
    [2, at('gone.json'), at('never.json')],
  ],
  openapi: () => [[0], [2, '--evidence', 'none']],
  diff: () => [
    [0, at('openapi.json')],
    [1, at('other.json')],
    [2, at('nothing.txt')],
  ],
  init: () => [[2, '--unknown']],
  x402: () => [
    [2, 'env', '--url', url],
    [2, 'unknown', '--url', url],
  ],
  requests: () => [
    [0, '--url', url],
    [0, 'last', '--url', url],
    [2, 'no-request', '--url', url],
  ],
  explain: () => [
    [0, 'last-error', '--url', url],
    [2, 'no-request', '--url', url],
  ],
  replay: () => [[0, 'last', '--diff', '--url', url]],
  reset: () => [
    [0, '--url', url],
    [2, '--url', 'nowhere'],
  ],
  trigger: () => [[2, 'unknown', '--url', url]],
  fund: () => [[2, 'nobody', 'much', '--url', url]],
  completion: () => [
    [0, 'bash'],
    [2, 'csh'],
  ],
}

/** They serve until a signal or run another program: their own tests look at how they end. */
const apart = ['start', 'exec', 'listen', 'mcp', 'proxy', 'rehearse']

test('every command ends with a code that says how it went', async () => {
  const names = program().commands.map((command) => command.name())
  expect([...Object.keys(lines), ...apart].sort()).toEqual(names.sort())
  const before = process.exitCode
  const printed: string[] = []
  const spies = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, 'write').mockImplementation((text) => printed.push(String(text)) > 0),
  )
  const ended: string[] = []
  const expected: string[] = []
  try {
    for (const [name, linesOf] of [
      [
        '',
        () =>
          [
            [0, '--version'],
            [0, '--help'],
            [2, 'unknown'],
          ] as const,
      ] as const,
      ...Object.entries(lines),
    ])
      for (const [code, ...args] of linesOf()) {
        process.exitCode = undefined
        printed.length = 0
        const line = [...(name === '' ? [] : [name]), ...args]
        await runProgram(line)
        const shown = process.exitCode ?? 0
        ended.push(`${line.join(' ')}: ${shown}${shown === code ? '' : ` ${printed.join('')}`}`)
        expected.push(`${line.join(' ')}: ${code}`)
      }
  } finally {
    process.exitCode = before
    for (const spy of spies) spy.mockRestore()
  }
  expect(ended.map((line) => line.split('\n')[0])).toEqual(expected)
})
