import { createPublicKey, verify as verifySignature } from 'node:crypto'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { required } from '../../src/base/required.js'
import type { Service, ServiceOptions, Storage } from '../../src/index.js'
import { putEvent } from '../../src/jobs/events/event.js'
import { gate } from '../support/scenes/card-service.js'
import { expectProblem, pay } from '../support/scenes/market.js'
import {
  type Answering,
  deliveriesOf,
  HOOK,
  newWebhook,
  type Received,
  startWithReceivers,
  until,
  verify,
  writeEvent,
} from '../support/scenes/webhooks.js'
import { newCommodity, newPayer, newSeller, tokenFor } from '../support/scenes/world.js'
import { callsOf, countingStorage } from '../support/storage/counting-storage.js'

const OTHER = 'https://other.example.test/'

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

async function start(answering?: Answering, options: ServiceOptions = {}) {
  const world = startWithReceivers(answering, options)
  started.push(world.service)
  await world.service.sandbox.setClock({ mode: 'manual' })
  await world.service.sandbox.setClock({ set: Date.UTC(2031, 4, 1) / 1000 })
  const seller = await newSeller(world.call)
  /** Moves the clock, behind which tokens expire. */
  const advance = async (duration: string) => {
    await world.service.sandbox.advance(duration)
    seller.token = await tokenFor(world.call, seller.clientId, seller.clientSecret)
  }
  return { ...world, seller, advance }
}

interface Shown {
  readonly type: string
  readonly status: string
  readonly tries: readonly object[]
}

test('a delivery is the event as the log shows it, and a stranger verifies it', async () => {
  const { call, seller, received } = await start()
  const { secret } = await newWebhook(call, seller, { events: ['payment.*'] })
  const commodity = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 5 })
  await pay(call, payer, commodity)
  await until(() => received.length === 1)
  const [got] = received
  const shown = (await call('GET', '/v4/events?type=payment.created', { token: seller.token })).body.events[0]
  expect(got).toMatchObject({ url: HOOK, event: shown, headers: { 'content-type': 'application/json' } })
  expect(got && verify(secret, got)).toEqual(shown)
  expect(() => got && verify(secret, { ...got, body: `${got.body} ` })).toThrow('No matching signature')
  for (const hidden of [secret, seller.token, payer.token, seller.clientSecret]) expect(got?.body).not.toContain(hidden)
})

test('first tries start in the order of the events, at most 20 at once, and no endpoint waits for another', async () => {
  const { opened, open } = gate()
  let now = 0
  let most = 0
  const { call, seller, received } = await start(async ({ url }) => {
    if (url !== HOOK) return 204
    most = Math.max(most, ++now)
    await opened
    now--
    return 204
  })
  const slow = await newWebhook(call, seller)
  await newWebhook(call, seller, { url: 'https://fast.example.test/' })
  const ids = []
  for (let n = 0; n < 70; n++) ids.push(await writeEvent(call, seller))
  const at = (url: string) => received.filter((got) => got.url === url).map(({ event }) => event.id)
  await until(() => at('https://fast.example.test/').length === 70)
  await until(() => now === 20)
  expect(at(HOOK)).toEqual(ids.slice(0, 20))
  open()
  await until(() => at(HOOK).length === 70)
  expect([at(HOOK), at('https://fast.example.test/'), most]).toEqual([ids, ids, 20])
  await until(async () =>
    (await deliveriesOf(call, seller, slow.id)).every(({ status }: Shown) => status === 'succeeded'),
  )
})

test('a failed delivery is tried again for three days under one id, holds nothing back, and disables its webhook', async () => {
  const poison = 'client.poison'
  const { service, call, seller, received, advance } = await start(({ event }) => (event.type === poison ? 500 : 204))
  const profile = await call('PUT', '/v4/billing/profile', {
    token: seller.token,
    body: { billing_email: 'owner@example.test' },
  })
  expect(profile.status).toBe(200)
  const { id } = await newWebhook(call, seller)
  const begin = Date.parse(service.sandbox.clock().now)
  await writeEvent(call, seller, poison)
  await writeEvent(call, seller, 'client.fine')
  await until(() => received.length === 2)
  await until(async () => (await deliveriesOf(call, seller, id)).every(({ tries }: Shown) => tries.length === 1))
  const [fine, failing] = await deliveriesOf(call, seller, id)
  expect([fine.status, failing.status, failing.next_try_at]).toEqual(['succeeded', 'pending', begin / 1000 + 5])
  await advance('60h')
  await writeEvent(call, seller, 'client.waiting')
  await until(() => received.some(({ event }) => event.type === 'client.waiting'))
  await advance('1d')
  const [, , failed] = await deliveriesOf(call, seller, id)
  const HOURS = 3600
  const waits = [0, 5, 300, 1800, 2 * HOURS, 5 * HOURS, 10 * HOURS, ...Array(4).fill(12 * HOURS)]
  let elapsed = begin / 1000
  expect(failed.tries).toEqual(
    waits.map((wait) => ({ at: (elapsed += wait), status: 500, ms: 0, error: 'bad_status' })),
  )
  expect(new Set(received.filter(({ event }) => event.type === poison).map((got) => got.id))).toEqual(
    new Set([failed.message_id]),
  )
  expect((await call('GET', `/v4/webhooks/${id}`, { token: seller.token })).body).toMatchObject({
    status: 'disabled',
    disabled_reason: 'failing',
  })
  const mails = (await service.sandbox.outbox({ to: 'owner@example.test' })).messages
  expect(mails).toMatchObject([{ subject: expect.stringMatching(/^Your webhook \d+ is disabled$/) }])
  expect((await call('GET', '/v4/events?type=webhook.disabled', { token: seller.token })).body.events).toHaveLength(1)
})

test('410 disables a webhook at once, ends what waits, and a change enables it again for later events', async () => {
  const { call, seller, received, receivers, advance } = await start(({ event }) =>
    event.type === 'client.last' ? 410 : 500,
  )
  const { id } = await newWebhook(call, seller)
  await writeEvent(call, seller, 'client.waits')
  await until(() => received.length === 1)
  await writeEvent(call, seller, 'client.last')
  const read = async () => (await call('GET', `/v4/webhooks/${id}`, { token: seller.token })).body
  await until(async () => (await read()).disabled_reason === 'gone')
  await writeEvent(call, seller, 'client.missed')
  receivers.answering = () => 204
  await call('PUT', `/v4/webhooks/${id}`, { token: seller.token, body: { description: 'fixed' } })
  expect(await read()).toMatchObject({ status: 'enabled', disabled_reason: null, description: 'fixed' })
  await advance('1d')
  await writeEvent(call, seller, 'client.later')
  await until(() => received.length === 3)
  expect(received.map(({ event }) => event.type)).toEqual(['client.waits', 'client.last', 'client.later'])
  const statuses = (await deliveriesOf(call, seller, id)).map(({ type, status }: Shown) => [type, status])
  expect(statuses.slice(1)).toEqual([
    ['client.last', 'failed'],
    ['client.waits', 'cancelled'],
  ])
})

test('after a rotation both secrets sign for a day, and then only the new one', async () => {
  const { call, seller, received, advance } = await start()
  const { id, secret } = await newWebhook(call, seller)
  const rotated = (await call('POST', `/v4/webhooks/${id}/rotate`, { token: seller.token })).body
  expect(rotated.secret).not.toBe(secret)
  await writeEvent(call, seller)
  await until(() => received.length === 1)
  const [first] = received
  for (const each of [secret, rotated.secret]) expect(first && verify(each, first)).toEqual(first?.event)
  await advance('25h')
  await writeEvent(call, seller)
  await until(() => received.length === 2)
  const second = received[1]
  expect(second && verify(rotated.secret, second)).toEqual(second?.event)
  expect(() => second && verify(secret, second)).toThrow('No matching signature')
})

/** Whether a delivery has a signature by this key. Node's own Ed25519 decides. */
function isSignedBy(publicKey: string, { headers, body }: Received): boolean {
  const x = Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const signatures = headers['webhook-signature']?.split(' ').filter((each) => each.startsWith('v1a,')) ?? []
  return signatures.some((each) => verifySignature(null, signed, key, Buffer.from(each.slice('v1a,'.length), 'base64')))
}

test('a webhook signs with Ed25519, and after a rotation with both keys for a day', async () => {
  const { call, seller, received, advance } = await start()
  const { id, public_key: first } = await newWebhook(call, seller, { signature: 'ed25519' })
  await writeEvent(call, seller)
  await until(() => received.length === 1)
  const one = required(received[0], 'a delivery')
  expect(one.headers['webhook-signature']).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/)
  expect(isSignedBy(first, one)).toBe(true)
  expect(isSignedBy(first, { ...one, body: `${one.body} ` })).toBe(false)
  const { public_key: second } = (await call('POST', `/v4/webhooks/${id}/rotate`, { token: seller.token })).body
  expect(isSignedBy(second, one)).toBe(false)
  await writeEvent(call, seller)
  await until(() => received.length === 2)
  for (const key of [first, second]) expect(isSignedBy(key, required(received[1], 'a delivery'))).toBe(true)
  const { secret } = (
    await call('POST', `/v4/webhooks/${id}/rotate`, { token: seller.token, body: { signature: 'hmac-sha256' } })
  ).body
  await writeEvent(call, seller)
  await until(() => received.length === 3)
  const mixed = required(received[2], 'a delivery')
  expect([isSignedBy(first, mixed), isSignedBy(second, mixed), verify(secret, mixed)]).toEqual([
    false,
    true,
    mixed.event,
  ])
  await advance('25h')
  await writeEvent(call, seller)
  await until(() => received.length === 4)
  expect(received[3]?.headers['webhook-signature']).toMatch(/^v1,\S+$/)
})

test('where the runtime has no Ed25519, such a webhook is refused, and one that exists lists why it fails', async () => {
  const { call, seller, received } = await start()
  const { id } = await newWebhook(call, seller, { signature: 'ed25519' })
  vi.spyOn(crypto.subtle, 'importKey').mockImplementation(() =>
    Promise.reject(new DOMException('Unrecognized name.', 'NotSupportedError')),
  )
  onTestFinished(() => void vi.restoreAllMocks())
  const refused = await call('POST', '/v4/webhooks', {
    token: seller.token,
    body: { url: HOOK, events: ['*'], signature: 'ed25519' },
  })
  expectProblem(refused, 400, 'field_invalid')
  expect(refused.body).toMatchObject({ field: 'signature', error: expect.stringContaining('has no Ed25519') })
  await writeEvent(call, seller)
  await until(async () => (await deliveriesOf(call, seller, id))[0]?.tries.length === 1)
  expect((await deliveriesOf(call, seller, id))[0].tries).toMatchObject([{ status: null, error: 'signature_failed' }])
  expect(received).toEqual([])
})

test('an event is sent again under its id, and a receiver that remembers ids processes each once', async () => {
  const processed = new Map<string, number>()
  const { call, seller, received, receivers, advance } = await start()
  const { id } = await newWebhook(call, seller)
  // The receiver is killed after it has processed the event, and before it answers.
  receivers.answering = ({ id: message, event }) => {
    if (!processed.has(message)) {
      processed.set(message, event.id)
      throw new Error('killed')
    }
    return 200
  }
  const ids = [await writeEvent(call, seller), await writeEvent(call, seller)]
  await until(() => received.length === 2)
  await advance('10s')
  expect(received.map(({ event }) => event.id)).toEqual([...ids, ...ids])
  expect([...processed.values()]).toEqual(ids)
  const [newest] = await deliveriesOf(call, seller, id)
  expect(newest).toMatchObject({ status: 'succeeded', tries: [{ error: 'unreachable' }, { error: null, status: 200 }] })
  const again = `/v4/webhooks/${id}/deliveries/${newest.id}/redeliver`
  expect((await call('POST', again, { token: seller.token })).body).toMatchObject({ status: 'pending' })
  await until(() => received.length === 5)
  expect(received[4]).toMatchObject({ id: newest.message_id, body: received[1]?.body })
})

test('a try that a crash cut off is made again under the same id', async () => {
  const storage = memoryStorage()
  const keptOpen: Storage = { ...storage, close: async () => {} }
  const first = await start(() => new Promise<never>(() => {}), { storage: keptOpen })
  const { id } = await newWebhook(first.call, first.seller)
  for (let n = 0; n < 25; n++) await writeEvent(first.call, first.seller)
  await until(() => first.received.length === 20)
  await Promise.all(started.splice(0).map((service) => service.close()))
  const second = startWithReceivers(() => 204, { storage: keptOpen })
  started.push(second.service)
  await second.service.ready()
  await until(() => second.received.length === 25)
  expect(second.received.slice(0, 20).map((got) => got.id)).toEqual(first.received.map((got) => got.id))
  await until(async () =>
    (await deliveriesOf(second.call, first.seller, id)).every(({ status }: Shown) => status === 'succeeded'),
  )
})

test('a delivery to an address that is refused today is not sent', async () => {
  let isAllowed = true
  const { call, seller, received } = await start(undefined, { allowUpstream: () => isAllowed })
  const { id } = await newWebhook(call, seller)
  isAllowed = false
  await writeEvent(call, seller)
  await until(async () => (await deliveriesOf(call, seller, id))[0]?.tries.length === 1)
  expect((await deliveriesOf(call, seller, id))[0].tries).toMatchObject([{ status: null, error: 'upstream_refused' }])
  for (const url of [
    'http://169.254.169.254/latest/meta-data',
    'http://metadata.google.internal/',
    'ftp://a.example.test/',
  ])
    expectProblem(
      await call('POST', '/v4/webhooks', { token: seller.token, body: { url, events: ['*'] } }),
      422,
      'upstream_refused',
    )
  expect(received).toEqual([])
})

test('a webhook gets no events from before it, of other accounts, of other types, or of tests of other webhooks', async () => {
  const { call, seller, received } = await start()
  const other = await newSeller(call)
  await writeEvent(call, seller, 'client.before')
  await newWebhook(call, seller, { events: ['client.*', 'webhook.*'] })
  const tested = await newWebhook(call, other, { url: OTHER, events: ['*'] })
  await writeEvent(call, other, 'client.foreign')
  await call('POST', `/v4/webhooks/${tested.id}/test`, { token: other.token })
  await newCommodity(call, seller)
  await writeEvent(call, seller, 'client.mine')
  await until(() => received.some(({ event }) => event.type === 'client.mine'))
  await until(() => received.some(({ event }) => event.type === 'webhook.test'))
  const typesAt = (url: string) => received.filter((got) => got.url === url).map(({ event }) => event.type)
  expect(typesAt(HOOK)).toEqual(['webhook.created', 'client.mine'])
  expect(typesAt(OTHER)).toEqual(expect.arrayContaining(['client.foreign', 'webhook.test']))
})

test('where no webhook is enabled, a payment and what follows it make no more storage calls', async () => {
  const storage = countingStorage()
  const { service, call } = startWithReceivers(undefined, { storage })
  started.push(service)
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 10 })
  await pay(call, payer, { hash })
  const callsOfPayment = () => callsOf(storage, () => pay(call, payer, { hash }))
  const without = await callsOfPayment()
  const { id } = await newWebhook(call, seller, { events: ['payment.*'] })
  expect(await callsOfPayment()).toBeGreaterThan(without)
  await call('DELETE', `/v4/webhooks/${id}`, { token: seller.token })
  expect(await callsOfPayment()).toBe(without)
})

test('on a shared storage, events land in the order of their ids, so none is waited for and none is missed', async () => {
  const storage: Storage = { ...memoryStorage(), exclusive: false }
  const { call, seller, received } = await start(undefined, { storage })
  const owner = `account:${seller.id}` as const
  const land = (type: string) =>
    storage.write((tx) => putEvent(tx, { owners: [owner], type, actor: owner, subject: null, data: {}, at: 0 }))
  await newWebhook(call, seller)
  // An id that another process drew for a write that failed.
  const failed = storage.write(async (tx) => Promise.reject(new Error(`${await tx.nextId('events')} never lands`)))
  await expect(failed).rejects.toThrow('never lands')
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => land(`client.other_${n}`)))
  const last = await writeEvent(call, seller)
  await until(() => received.length === 21)
  expect(received.map(({ event }) => event.id)).toEqual([...others.map(({ id }) => id).toSorted((a, b) => a - b), last])
  const { rows } = await storage.export()
  expect(rows.webhook_progress).toEqual([{ id: 'events', after: last, due_at: expect.any(Number) }])
})

test('two processes on one storage hand each event out once', async () => {
  const storage: Storage = { ...memoryStorage(), exclusive: false, close: async () => {} }
  const encryptionKey = '7'.repeat(64)
  const one = await start(undefined, { storage, encryptionKey })
  const two = startWithReceivers(undefined, { storage, encryptionKey })
  started.push(two.service)
  const { id } = await newWebhook(one.call, one.seller)
  const ids = await Promise.all(
    Array.from({ length: 40 }, (_, n) => writeEvent(n % 2 ? one.call : two.call, one.seller)),
  )
  const all = () => [...one.received, ...two.received]
  await until(() => all().length === 40)
  expect(
    all()
      .map(({ event }) => event.id)
      .sort((a, b) => a - b),
  ).toEqual(ids.sort((a, b) => a - b))
  expect(await deliveriesOf(one.call, one.seller, id)).toHaveLength(40)
})
