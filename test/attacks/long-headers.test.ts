import { afterAll, expect, test } from 'vitest'
import { clientAddress } from '../../src/http/caller.js'
import { createService } from '../../src/index.js'
import { Journal } from '../../src/sandbox/journal/journal.js'
import { caller } from '../support/api.js'

/** Texts in the heads of requests that are kept where no limit of the journal counts them. */

const services: { close(): Promise<void> }[] = []
afterAll(() => Promise.all(services.map((service) => service.close())))

const long = 'a'.repeat(100_000)

test('an address that a proxy names is an address, or nobody’s', () => {
  const named = (text: string) =>
    clientAddress({ peerAddress: '192.0.2.1' }, { get: () => text }, { trustsProxy: true })
  expect(named('198.51.100.7')).toBe('198.51.100.7')
  expect(named('[2001:db8:0:0:0:0:192.0.2.33]:65535')).toBe('2001:db8:0:0:0:0:192.0.2.33')
  expect(named(`${'a:'.repeat(50_000)}`)).toBe('192.0.2.1')
})

test('the journal counts all that it keeps of a request, and no key, name or address is kept beside it', {
  timeout: 60_000,
}, async () => {
  const service = createService({ sandbox: true, trustProxy: true, journal: { bytes: 400_000, entries: 1000 } })
  services.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const kept: number[] = []
  for (let n = 0; n < 5; n++) {
    await service.respond(
      new Request(`${service.baseUrl}/v4/account/oauth/token`, {
        method: 'POST',
        headers: {
          authorization: `Basic ${btoa(`${n}${long}:secret`)}`,
          'idempotency-key': `${n}${long}`,
          'x-forwarded-for': `${n}:${'a:'.repeat(50_000)}`,
          traceparent: `00-${long}`,
        },
      }),
      { peerAddress: '127.0.0.1' },
    )
    kept.push((await call('GET', '/_sandbox/requests?limit=100')).body.requests.length)
  }
  // Each holds its headers, which are 600 kB: no more than one fits.
  expect(Math.max(...kept)).toBe(1)
  const [entry] = (await call('GET', '/_sandbox/requests')).body.requests
  expect(entry.principal === null || entry.principal.length < 100).toBe(true)
  expect(entry.client_address === undefined || entry.client_address.length < 60).toBe(true)
})

test('the first use of a long Idempotency-Key is remembered by its digest', async () => {
  const noted: string[] = []
  const original = Journal.prototype.beginRequest
  Journal.prototype.beginRequest = function (incoming) {
    const { causes } = this
    const note = causes.note.bind(causes)
    causes.note = (thing, id) => {
      noted.push(thing)
      note(thing, id)
    }
    return original.call(this, incoming)
  }
  try {
    const service = createService({ sandbox: true })
    services.push(service)
    await service.fetch('/v4/account', { method: 'POST', headers: { 'idempotency-key': long } })
  } finally {
    Journal.prototype.beginRequest = original
  }
  expect(noted.filter((thing) => thing.startsWith('key:')).length).toBeGreaterThan(0)
  for (const thing of noted) expect(thing.length).toBeLessThan(300)
})
