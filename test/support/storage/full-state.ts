import { expect } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { systemAlarm } from '../../../src/base/ports.js'
import { type Cards, type ChargeResult, createService, type State } from '../../../src/index.js'
import { processes } from '../../../src/jobs/processes/process-rows.js'
import { countMcpCall } from '../../../src/market/plans/plan.js'
import { testProcessor } from '../../../src/money/cards/test-values.js'
import type { Storage } from '../../../src/storage/storage.js'
import { type Call, caller } from '../api.js'
import { REPORT } from '../examples/paying.js'
import { applyChange, approvedChange, newBusiness } from '../scenes/account-changes.js'
import { binderCsv, binderHash, sendBinder } from '../scenes/binders.js'
import { gate } from '../scenes/card-service.js'
import { CLOSED_ENDPOINT, filledCart, newItem } from '../scenes/carts.js'
import { purchase, putParameters, WEATHER } from '../scenes/catalog.js'
import { newCheckout, newShop, withCard } from '../scenes/checkout.js'
import { newAgent, newApp, startInteraction } from '../scenes/oidc.js'
import { newDelegate, newPersona } from '../scenes/personas.js'
import { ask } from '../scenes/second-factor.js'
import { HOOK, newWebhook, writeEvent } from '../scenes/webhooks.js'
import { balanceOf, basic, newCommodity, newReader, newSeller, newSession, newTwin } from '../scenes/world.js'
import { newWallet, paymentOf, settle } from '../scenes/x402.js'

/** Who is in a full state, and what they hold: what a later release must still answer. */
export interface Facts {
  readonly seller: { readonly client_id: string; readonly client_secret: string; readonly hostname: string }
  readonly payer: {
    readonly client_id: string
    readonly client_secret: string
    readonly hostname: string
    readonly balance: number
  }
  readonly dq: string
  /** Of a commodity that the payer can pay for. */
  readonly hash: string
  readonly item: number
  /** Of a checkout that waits to be paid. */
  readonly checkout: string
  readonly persona: string
  /** Of an email that signed in by a code. */
  readonly reader: string
}

/** A storage that can hold back an import of a binder once it is decided. */
function pausedImport(inner: Storage) {
  const [reached, released] = [gate(), gate()]
  let pauses = false
  const isPosting = async () =>
    (await inner.export()).rows.binder_imports?.some((row) => 'state' in row && row.state === 'posting') ?? false
  const storage: Storage = {
    ...inner,
    async write(body) {
      const value = await inner.write(body)
      if (!pauses || !(await isPosting())) return value
      pauses = false
      reached.open()
      await released.opened
      return value
    },
  }
  const pause = () => {
    pauses = true
    return () => released.open()
  }
  return { storage, pause, paused: reached.opened }
}

/** A state in which every collection holds rows, made through the public interface and caught while a paid call is under way. */
export async function fullState(): Promise<{ state: State; facts: Facts }> {
  const storage = memoryStorage()
  const importing = pausedImport(storage)
  let release = (_: Response) => {}
  let asked = 0
  const upstream = {
    fetch({ url }: { url: string }) {
      if (url === HOOK) return Promise.resolve(new Response(null, { status: 204 }))
      asked++
      return new Promise<Response>((resolve) => {
        release = resolve
      })
    },
  }
  let answerCard = (_: ChargeResult) => {}
  const known = testProcessor({ alarm: systemAlarm })
  const cards: Cards = {
    ...known,
    charge: (order) =>
      order.payment_method_id === 'pm_processor_slow'
        ? new Promise((resolve) => {
            answerCard = resolve
          })
        : known.charge(order),
  }
  const service = createService({ storage: importing.storage, upstream, cards, sandbox: true })
  const url = 'http://127.0.0.1:4242'
  const call = caller({ url, fetch: (request) => service.fetch(request), close: () => service.close() })
  const seller = await newSeller(call)
  await call('PUT', '/v4/account', { token: seller.token, body: { name: 'The Daily Quark' } })
  const { hash, dq, hostname } = await newCommodity(call, seller)
  const payer = await newReader(call, seller, { balance: 2 })
  await call('POST', `/v4/payment/${hash}`, { token: payer.token, headers: { 'idempotency-key': 'once' } })
  await call('POST', '/v4/transfer', { token: payer.token, body: { address: 'guest@example.test', amount: 0.25 } })
  const { hash: persona } = await newPersona(call, payer)
  const spend = { party: { client_id: seller.clientId }, dq, limit: 1 }
  const given = await newDelegate(call, payer, { persona, hostname, spend })
  await call('POST', `/v4/payment/${hash}`, { token: seller.token, body: { persona_delegate: given.hash } })
  const { twinId } = await newCommodity(call, seller)
  const gift = { descriptor: 'NEWS.CONSENT', dq, cost: 0, twin_id: twinId, payback: true }
  const payback = (await call('POST', '/v4/commodity', { token: seller.token, body: gift })).body
  await call('POST', `/v4/payback/${payback.hash}`, { token: payer.token })
  await call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: payer.hostname } })
  await call('POST', '/v4/account/register', { body: { dq, email: 'owner@example.test' } })
  await call('POST', '/v4/account/oauth/token', { headers: basic(seller.clientId, 'mc_wrong') })
  const item = await newItem(call, seller, { external_endpoint: CLOSED_ENDPOINT })
  await filledCart(call, payer, [item])
  await putParameters(call, seller, item, [{ kind: 'query', name: 'key', value: 'x' }])
  const bought = purchase(call, { token: payer.token }, item)
  await expect.poll(() => asked).toBe(1)
  release(new Response())
  expect((await bought).status).toBe(201)
  const link = await newCheckout(call, await newShop(call, 'https://api.example.test/story'))
  await withCard(call, link, {}, 'pm_card_expired')
  const plan = { plan: 'growth', payment_method_id: 'pm_card_visa' }
  expect((await call('PUT', '/v4/billing/plan', { token: seller.token, body: plan })).status).toBe(200)
  await call('PUT', '/v4/billing/profile', { token: seller.token, body: { tax_number: 'DE123456789' } })
  await storage.write((tx) => countMcpCall(tx, seller.id, seller.id))
  const process = { id: 'process:another', holder: 'another', fence: 1 }
  await storage.write(async (tx) => tx.put(processes, process))
  const reader = 'reader@example.test'
  await newSession(call, reader)
  await newAgent(call)
  await startInteraction(call, await newApp(call))
  const business = await newBusiness(call)
  const made = { kind: 'create_item', ...WEATHER, external_endpoint: 'https://api.example.test/weather' }
  for (const change of [made, { kind: 'rename_wallet', hostname: business.hostname, name: 'Shop' }])
    expect((await applyChange(call, business.agent, await approvedChange(call, business, change))).status).toBe(200)
  await call('POST', '/v4/agent/account-choice', business.agent)
  await call('PUT', '/v4/agent/settings', { token: payer.token, body: { approval_threshold: { [dq]: 0.1 } } })
  const session = (await call('POST', '/v3/session', { token: payer.token })).body.session_id
  const payment = { paymentTypeHash: dq, amount: 0.05, destinationUrl: hostname }
  const paying = call('POST', '/v3/paywall', { session, body: payment })
  const authorizations = async () =>
    (await call('GET', '/v3/paywall/authorizations', { token: payer.token })).body.authorizations
  await expect.poll(authorizations).toHaveLength(1)
  const approval = { authorizationId: (await authorizations())[0].id, approved: true }
  await call('PUT', '/v3/paywall/authorizations', { token: payer.token, body: approval })
  expect((await paying).status).toBe(200)
  await payByX402(call, payer.hostname)
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode: 'approve', after_seconds: 60 } })
  await ask(call, payer)
  await call('POST', '/_sandbox/clock', { body: { advance: '1s' } })
  const balance = await balanceOf(call, payer.token, payer.hostname)

  const imported = { action: 'receive', other: binderHash('twin', 1) } as const
  const csv = binderCsv([
    { ...imported, at: Date.UTC(2024, 1, 2), identity: binderHash('file', 2), dq: binderHash('dq', 1), amount: '1.5' },
    { ...imported, at: Date.UTC(2024, 1, 1), identity: binderHash('file', 1) },
  ])
  const [done, left] = [await newTwin(call, seller.token), await newTwin(call, seller.token)]
  expect((await sendBinder(call, done.hostname, csv)).status).toBe(201)
  const resume = importing.pause()
  const unfinished = sendBinder(call, left.hostname, csv)
  await importing.paused

  await newWebhook(call, seller)
  await writeEvent(call, seller)
  const deliveries = async () => (await storage.export()).rows.webhook_deliveries
  await expect.poll(deliveries).toMatchObject([{ status: 'succeeded' }])

  const order = { amount: 0.1, destination: hostname, serviceUrl: 'https://api.example.test/' }
  const held = call('POST', '/v4/paywall', { token: payer.token, body: order })
  await expect.poll(async () => (await storage.export()).rows.held_calls).toHaveLength(1)
  const card = { amount: 1, payment_method_id: 'pm_processor_slow' }
  const pending = call('POST', `/v4/twin/${hostname}/topup`, { token: seller.token, body: card })
  await expect.poll(async () => (await storage.export()).rows.reservations).toHaveLength(2)
  const state = await storage.export()
  release(new Response())
  answerCard({ status: 'unavailable' })
  resume()
  await Promise.all([held, pending, unfinished])
  await service.close()
  const facts = {
    seller: { client_id: seller.clientId, client_secret: seller.clientSecret, hostname },
    payer: {
      client_id: payer.clientId,
      client_secret: payer.clientSecret,
      hostname: payer.hostname,
      // The call that is under way is given up by whoever opens the state: its amount goes back.
      balance,
    },
    dq,
    hash,
    item: item.id,
    checkout: link.token,
    persona,
    reader,
  }
  return { state, facts }
}

/** A linked wallet, a payment with a name for what is listed, and one for what is not. */
async function payByX402(call: Call, hostname: string): Promise<void> {
  await call('POST', '/_sandbox/wallets', { body: { twin: hostname } })
  const wallet = await newWallet(call, 1)
  const named = { 'payment-identifier': { info: { required: false, id: 'pay_0123456789abcdef' } } }
  for (const extensions of [{ ...named, bazaar: REPORT }, { bazaar: { info: REPORT.info } }])
    expect((await settle(call, await paymentOf(wallet, { extensions }))).body.success).toBe(true)
}
