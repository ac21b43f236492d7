import { setupServer } from 'msw/node'
import { expect, onTestFinished, test } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { readSettings } from '../../sandbox/config.js'
import { startSandbox } from '../../sandbox/sandbox.js'
import { createService, type ServiceOptions } from '../../src/index.js'
import { FLAKY, type RichHistory, repeatable, richHistory, type Slowness } from '../support/scenes/rich-history.js'
import { unhandled } from '../support/unhandled.js'

function start(options: ServiceOptions) {
  const service = createService(options)
  onTestFinished(() => service.close())
  return service
}

function run(slowness: Slowness, faults = FLAKY) {
  const service = start(repeatable(slowness))
  return richHistory(service, (path, init) => service.fetch(path, init), faults)
}

async function runUnderMsw() {
  const service = start(repeatable(() => 0))
  const server = setupServer(...handlers(service))
  server.listen(unhandled('error'))
  try {
    return await richHistory(service, (path, init) => fetch(`${service.baseUrl}${path}`, init))
  } finally {
    server.close()
  }
}

/** A port that takes another time with each call. */
function changing(): Slowness {
  let calls = 3
  return () => (calls++ * 7) % 5
}

let ran: Promise<RichHistory> | undefined

/** The run that others are compared with. */
const firstRun = () => (ran ??= run(() => 0))

test('a run of everything leaves entries of each kind, and each fault of it', async () => {
  const first = await firstRun()
  const kinds = new Set(first.entries.flatMap(({ caused }) => caused.map(({ kind }) => kind)))
  expect([...kinds].sort()).toEqual(
    ['card', 'entry', 'event', 'mail', 'movement', 'push', 'timer', 'upstream', 'webhook'].sort(),
  )
  expect(new Set(first.entries.map(({ origin }) => origin))).toEqual(new Set(['in_process', 'delivery', 'timer']))
  expect(new Set(first.entries.flatMap(({ fault }) => fault ?? [])).size).toBe(FLAKY.length)
  expect(first.entries.every(({ ms }) => ms !== null)).toBe(true)
})

test('the same run gives the same journal, byte for byte, however fast its ports are', async () => {
  const first = await firstRun()
  const slow = await run(changing())
  expect(slow.transcript).toEqual(first.transcript)
  expect(slow.journal).toEqual(first.journal)
})

test('the same run gives the same journal under MSW, but for where it came from', async () => {
  const { journal } = await runUnderMsw()
  const shown = journal.map((entry) => entry.replace('"origin":"msw"', '"origin":"in_process"'))
  expect(shown).toEqual((await firstRun()).journal)
})

test('the same run meets the same failures of its storage', async () => {
  const failing = [
    ...FLAKY,
    { match: { port: 'storage' }, at: 'before', do: { error: 'ENOSPC' }, probability: 0.2 },
  ] as const
  const first = await run(() => 0, failing)
  expect(first.entries.filter(({ fault }) => fault === `fault_${failing.length}`).length).toBeGreaterThan(2)
  const again = await run(() => 0, failing)
  expect(again.transcript).toEqual(first.transcript)
  expect(again.journal).toEqual(first.journal)
})

test('the journal keeps as many entries and bytes as its options say, and counts what it forgot', async () => {
  const read = async (journal: Exclude<ServiceOptions['journal'], undefined>, requests: number) => {
    const { fetch, sandbox } = start({ sandbox: true, journal })
    const ids: (string | null)[] = []
    for (let n = 0; n < requests; n++) ids.push((await fetch('/v4/dq')).headers.get('x-request-id'))
    const { requests: kept, dropped } = await sandbox.requests.list({ limit: 1000 })
    expect(kept.map(({ id }) => id)).toEqual(ids.slice(dropped).toReversed())
    return { kept: kept.length, dropped }
  }
  expect(await read({ entries: 3 }, 5)).toEqual({ kept: 3, dropped: 2 })
  expect(await read({ bytes: 0 }, 3)).toEqual({ kept: 1, dropped: 2 })
  expect((await read({ bytes: 5000 }, 20)).kept).toBeLessThan(8)
  expect(await read(true, 20)).toEqual({ kept: 20, dropped: 0 })
})

test.each([false, { entries: 0 }])(
  'a service with the journal %o keeps none, and its answers name none',
  async (journal) => {
    const { fetch, sandbox } = start({ sandbox: true, journal })
    expect((await fetch('/v4/dq')).headers.has('x-request-id')).toBe(false)
    await expect(sandbox.requests.list()).rejects.toMatchObject({ code: 'not_found' })
  },
)

test('the settings of the command line bound the journal', async () => {
  const dropped = async (flags: Record<string, unknown>) => {
    const given = { port: '0', memory: true, seed: 'none', ...flags }
    const settings = await readSettings({ flags: given, environment: {}, directory: '/nowhere' })
    const sandbox = await startSandbox(settings, { warn: () => {} })
    onTestFinished(() => sandbox.close())
    for (let n = 0; n < 4; n++) await (await fetch(`${sandbox.url}/v4/dq`)).text()
    const answer = await fetch(`${sandbox.url}/_sandbox/requests`)
    return answer.status === 200 ? (await answer.json()).dropped : answer.status
  }
  expect(await dropped({ journalEntries: '3' })).toBe(1)
  expect(await dropped({ journalBytes: '1' })).toBe(3)
  expect(await dropped({ journalEntries: '0' })).toBe(404)
})
