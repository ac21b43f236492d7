import { describe, expect, test, vi } from 'vitest'
import { timers } from '../../src/jobs/schedule/timer.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { newProcesses, type TestProcess } from '../support/scenes/processes.js'
import { newSeller } from '../support/scenes/world.js'

/** Follows the events of a caller, and collects their ids. */
async function follow({ service }: TestProcess, token: string, query = ''): Promise<{ ids: number[]; end(): void }> {
  const ended = new AbortController()
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' }
  const { body } = await service.fetch(`${service.baseUrl}/v4/events${query}`, { headers, signal: ended.signal })
  const ids: number[] = []
  const read = async () => {
    let text = ''
    for await (const piece of body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += piece
      ids.splice(0, ids.length, ...[...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id)))
    }
  }
  read().catch(() => {})
  return { ids, end: () => ended.abort() }
}

describe.each([{ hints: true }, { hints: false }])('work of several processes (hints: $hints)', ({ hints }) => {
  test('a follower at any process sees every event once and in order, whoever writes it', async () => {
    const { start, time } = newProcesses({ hints })
    const all = [await start(), await start(), await start()] as const
    const seller = await newSeller(all[0].call)
    const first = await Promise.all(all.map((each) => follow(each, seller.token)))
    const write = async ({ call }: TestProcess, n: number) => {
      const body = { type: `client.event.${n}` }
      return (await call('POST', '/v4/events', { token: seller.token, body })).body.id as number
    }
    const written = await Promise.all(Array.from({ length: 60 }, (_, n) => write(all[n % 3] as TestProcess, n)))
    const expected = written.toSorted((one, two) => one - two)
    await time.until(() => first.every(({ ids }) => ids.length >= 60))
    for (const { ids, end } of first) {
      expect(ids).toEqual(expected)
      end()
    }
    // One that reconnects at a different process goes on where it was.
    const again = await follow(all[2] as TestProcess, seller.token, `?after=${expected[29]}`)
    await time.until(() => again.ids.length >= 30)
    expect(again.ids).toEqual(expected.slice(30))
    again.end()
  })

  test('each timer runs once, and each mail leaves once', async () => {
    const { start, time } = newProcesses({ hints })
    const mails: string[] = []
    const mailer = { send: async ({ to }: { to: string }) => void mails.push(to) }
    const all = [await start({ mailer }), await start({ mailer }), await start({ mailer })] as const
    const addresses = Array.from({ length: 30 }, (_, n) => `user-${n}@example.test`)
    await Promise.all(addresses.map((email, n) => all[n % 3]?.call('POST', '/v4/session/code', { body: { email } })))
    await time.until(() => mails.length >= 30)
    await time.pass(5000)
    expect(mails.toSorted()).toEqual(addresses.toSorted())
    await expectSoundLedger(all[1].call)
  })

  test('a process that hung takes the clock over before it does any work', async () => {
    const { start, time, storage } = newProcesses({ hints })
    const [a, b] = [await start(), await start()]
    const resume = b.hang()
    await time.pass(70_000)
    await a.call('POST', '/_sandbox/clock', { body: { advance: '40d' } })
    const now = Date.parse(a.service.sandbox.clock().now)
    const later = { id: 99, kind: 'none', subject: '', due_at: now + 86_400_000, due_set_at: now }
    await storage.write(async (tx) => tx.put(timers, later))
    // Its round begins while its clock is forty days behind.
    resume()
    await time.until(() => b.service.sandbox.clock().now === a.service.sandbox.clock().now)
    expect(await storage.read((tx) => tx.get(timers, 99))).toEqual(later)
  })
})

test('with hints, an event that one process writes is in the stream of another although no time passes', async () => {
  const { start } = newProcesses({ hints: true })
  const [a, b] = [await start(), await start()]
  const seller = await newSeller(a.call)
  const { ids, end } = await follow(b, seller.token)
  const headers = { authorization: `Bearer ${seller.token}`, 'content-type': 'application/json' }
  for (let n = 1; n <= 3; n++) {
    const body = JSON.stringify({ type: `client.event.${n}` })
    expect((await a.service.fetch(`${a.service.baseUrl}/v4/events`, { method: 'POST', headers, body })).status).toBe(
      201,
    )
    await vi.waitUntil(() => ids.length === n)
  }
  end()
})
