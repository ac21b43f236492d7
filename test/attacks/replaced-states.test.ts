import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../../src/index.js'

/** Whoever follows events while the state is replaced by one with fewer of them: their ids begin again below the last one seen. */

const seed = { accounts: [{ name: 'Shop' }] }

function sandbox() {
  const service = createService({ sandbox: true, seed })
  onTestFinished(() => service.close())
  return service
}

type Sandbox = ReturnType<typeof sandbox>

async function token(service: Sandbox): Promise<string> {
  const { headers } = await service.sandbox.actAs('account:1')
  return headers.authorization ?? ''
}

async function happen(service: Sandbox, type: string): Promise<number> {
  const answer = await service.fetch('/v4/events', {
    method: 'POST',
    headers: { authorization: await token(service), 'content-type': 'application/json' },
    body: JSON.stringify({ type }),
  })
  expect(answer.status).toBe(201)
  return ((await answer.json()) as { id: number }).id
}

/** Follows the events after an id. Returns a function that waits for the next message of a type. */
async function follow(service: Sandbox, lastId: string | undefined, type = '') {
  const leaving = new AbortController()
  onTestFinished(() => leaving.abort())
  const headers = {
    authorization: await token(service),
    accept: 'text/event-stream',
    ...(lastId !== undefined && { 'last-event-id': lastId }),
  }
  const answer = await service.fetch(`/v4/events${type && `?type=${type}`}`, { headers, signal: leaving.signal })
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let read = ''
  return async (wanted: string): Promise<{ id: string; data: unknown }> => {
    for (;;) {
      const [all, data = '', id = ''] = new RegExp(`event: ${wanted}\\ndata: (.*)\\nid: (.*)\\n\\n`).exec(read) ?? []
      if (all !== undefined) {
        read = read.slice(read.indexOf(all) + all.length)
        return { id, data: JSON.parse(data) }
      }
      const { value, done } = (await reader?.read()) ?? { done: true }
      if (done) throw new Error(`The stream ended after ${JSON.stringify(read)}`)
      read += value
    }
  }
}

/** How the state is replaced by one of before the last events. Returns the service that has it. */
const ways: [string, (service: Sandbox) => Promise<() => Promise<Sandbox>>][] = [
  ['a reset', async (service) => () => service.sandbox.reset().then(() => service)],
  [
    'a restore',
    async (service) => {
      const snapshot = await service.sandbox.snapshot()
      return () => service.sandbox.restore(snapshot).then(() => service)
    },
  ],
  [
    'a rewind to a snapshot',
    async (service) => {
      await service.sandbox.snapshots.save('before')
      return () => service.sandbox.rewind('before').then(() => service)
    },
  ],
  [
    'a rewind to a request',
    async (service) => {
      const id = (await service.fetch('/v4/dq')).headers.get('x-request-id') ?? ''
      return () => service.sandbox.rewind(id).then(() => service)
    },
  ],
  [
    'a fork of before',
    async (service) => {
      const fork = await service.sandbox.fork()
      onTestFinished(() => fork.close())
      return async () => fork
    },
  ],
  [
    'another runtime that restores a snapshot',
    async (service) => {
      const snapshot = await service.sandbox.snapshot()
      return async () => {
        const other = sandbox()
        await other.sandbox.restore(snapshot)
        return other
      }
    },
  ],
]

test.each(ways)('whoever resumes after %s learns that events may be missing, and sees the next', async (_, prepare) => {
  for (const type of ['', 'client.*', 'client.next']) {
    const service = sandbox()
    const replace = await prepare(service)
    let last = 0
    for (let count = 0; count < 5; count++) last = await happen(service, 'client.lost')
    const replaced = await replace()
    const next = await follow(replaced, String(last), type)
    const gap = await next('events.removed')
    expect(gap.data).toEqual({ after: last, until: Number(gap.id) })
    expect(Number(gap.id)).toBeLessThan(last)
    const id = await happen(replaced, 'client.next')
    expect((await next('client.next')).id).toBe(String(id))
  }
})

test.each(ways.filter(([how]) => /^a (restore|rewind)/.test(how)))(
  'a stream that is open during %s says so once, and goes on',
  async (_, prepare) => {
    const service = sandbox()
    // Its token stays when the state is replaced.
    await happen(service, 'client.first')
    const replace = await prepare(service)
    const next = await follow(service, undefined)
    const last = await happen(service, 'client.seen')
    await next('client.seen')
    const began = performance.now()
    await replace()
    expect((await next('events.removed')).data).toMatchObject({ after: last })
    // It need not wait for the next heartbeat.
    expect(performance.now() - began).toBeLessThan(10_000)
    const id = await happen(service, 'client.next')
    expect((await next('client.next')).id).toBe(String(id))
    await happen(service, 'client.last')
    await next('client.last')
  },
)

test.each(['9'.repeat(16), '9'.repeat(400), '-1', '1e3', 'abc'])(
  'a Last-Event-ID that is none, such as %s, is that of a new reader',
  async (lastId) => {
    const service = sandbox()
    const next = await follow(service, lastId)
    const id = await happen(service, 'client.next')
    expect((await next('client.next')).id).toBe(String(id))
  },
)
