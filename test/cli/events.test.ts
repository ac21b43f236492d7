import { afterEach, describe, expect, test } from 'vitest'
import { listen } from '../../sandbox/commands/listen.js'
import { trigger, triggers } from '../../sandbox/commands/trigger.js'
import { program } from '../../sandbox/program.js'
import { Refusal } from '../../sandbox/refusal.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type Service } from '../../src/index.js'
import { eventTypes } from '../../src/jobs/events/event-types.js'
import { until, verify } from '../support/scenes/webhooks.js'

const RECEIVER = 'http://127.0.0.1:3000/hook'

const started: { service: Service; stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const { service, stop } of started.splice(0)) {
    await stop()
    await service.close()
  }
})

/** A sandbox with the demo seed, and the commands beside it. A receiver answers with 204. */
async function start(answer: () => Response = () => new Response(null, { status: 204 })) {
  const lines: string[] = []
  const forwarded: { headers: Record<string, string>; body: string }[] = []
  const service = createService({
    sandbox: true,
    seed: demo.seed,
    upstream: { fetch: fetchOfWorld },
    limits: { closeMs: 50 },
  })
  async function fetchOfWorld(input: string | URL | Request | { url: string }, init?: RequestInit): Promise<Response> {
    const url = typeof input === 'string' ? input : input instanceof URL ? input.href : input.url
    if (url.startsWith(service.baseUrl)) return service.fetch(url, init)
    if (url !== RECEIVER) throw new TypeError('fetch failed')
    forwarded.push({ headers: init?.headers as Record<string, string>, body: String(init?.body) })
    return answer()
  }
  const outside = {
    fetch: fetchOfWorld as typeof fetch,
    environment: {},
    print: (line: string) => void lines.push(line),
    printText: (text: string) => void lines.push(text),
  }
  const stopped = new AbortController()
  const running: Promise<unknown>[] = []
  const stop = async () => {
    stopped.abort()
    await Promise.all(running)
  }
  started.push({ service, stop })
  return {
    ...{ service, lines, forwarded, outside, stop },
    async listen(flags: Parameters<typeof listen>[0] = {}) {
      running.push(listen({ url: service.baseUrl, ...flags }, outside, stopped.signal))
      await until(() => lines.some((line) => line.startsWith('Listening')))
      // The stream begins behind the newest event.
      await new Promise((resolve) => setTimeout(resolve, 50))
    },
    trigger: (type: string) => trigger(type, { url: service.baseUrl }, { ...outside, print: () => {} }),
  }
}

describe('farthing listen', () => {
  test('prints the events that its patterns name, and forwards each, signed with the secret that it prints', async () => {
    const { lines, forwarded, listen, trigger } = await start()
    await listen({ forwardTo: RECEIVER, events: 'payment.*, client.done' })
    await trigger('client.other')
    await trigger('payment.created')
    await trigger('client.done')
    await until(() => lines.length === 4)
    const [, secretLine = '', ...events] = lines
    const secret = secretLine.replace('Signing secret: ', '')
    expect(events).toEqual([
      expect.stringMatching(/^#\d+ payment\.created payment:\d+ -> 204$/),
      expect.stringMatching(/^#\d+ client\.done -> 204$/),
    ])
    const types = forwarded.map((got) => (verify(secret, got) as { type: string }).type)
    expect(types).toEqual(['payment.created', 'client.done'])
    expect(new Set(forwarded.map(({ headers }) => headers['webhook-id'])).size).toBe(2)
  })

  test('goes on while nobody answers, and uses a given secret', async () => {
    const secret = `whsec_${btoa('thirty-two bytes that are known!')}`
    const { lines, forwarded, listen, trigger } = await start(() => {
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:3000') })
    })
    await listen({ forwardTo: RECEIVER, events: 'client.*', secret })
    for (const type of ['client.a', 'client.b']) await trigger(type)
    await until(() => lines.length === 4)
    expect(lines[2]).toMatch(/^#\d+ client\.a -> no answer: connect ECONNREFUSED 127\.0\.0\.1:3000$/)
    for (const got of forwarded) verify(secret, got)
  })

  test('refuses what it cannot use, and says what to do', async () => {
    const { service, outside } = await start()
    const url = service.baseUrl
    for (const [flags, what] of [
      [{ url, events: 'payment.create' }, '--events: "events.0" must be a type of event'],
      [{ url, events: 'payment.create' }, 'Did you mean "payment.created"?'],
      [{ url, forwardTo: 'localhost:3000' }, '--forward-to must begin with http://'],
      [{ url, forwardTo: RECEIVER, secret: 'x' }, '--secret must be "whsec_"'],
      [{ url: 'http://127.0.0.1:1' }, 'no farthing answers at http://127.0.0.1:1'],
      [{ url: 'nowhere' }, '--url must begin with http://'],
      [{ url, clientId: 'mid_unknown' }, 'Name its credentials with --client-id'],
    ] as const) {
      const refused = await listen(flags, outside, AbortSignal.timeout(5000)).catch((error: unknown) => error)
      expect(refused).toBeInstanceOf(Refusal)
      expect(String(refused)).toContain(what)
    }
  })
})

describe('farthing trigger', () => {
  test.each(Object.keys(triggers))('%s makes it happen', async (type) => {
    const { service, outside, lines } = await start()
    await trigger(type, { url: service.baseUrl }, outside)
    expect(lines.join('\n')).toMatch(new RegExp(`^#\\d+ ${type}`, 'm'))
  })

  test('knows only types of events', () => {
    expect(Object.keys(triggers).filter((type) => !(type in eventTypes))).toEqual([])
  })

  test('names the nearest for what it does not know', async () => {
    const { outside } = await start()
    const refusal = (type: string) => trigger(type, {}, outside).catch(String)
    expect(await refusal('payment.create')).toContain(
      '"payment.create" is not a type of event. Did you mean "payment.created"?',
    )
    expect(await refusal('payment.failed')).toContain('"payment.failed" cannot be triggered.')
  })
})

test('the command line has both commands', () => {
  const names = program().commands.map((command) => command.name())
  expect(names).toEqual(expect.arrayContaining(['listen', 'trigger']))
})
