import { afterEach, expect, test } from 'vitest'
import { decodeHeader } from '../../src/agents/x402/payload.js'
import { createService, type Service } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { setClock, stopClock } from '../support/scenes/market.js'
import { callItem, newPaidShop, offerIn, payHeader } from '../support/scenes/paid-calls.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { heldBy, newWallet, paymentOf, paymentV1Of, settle, verify } from '../support/scenes/x402.js'

/** Whoever sends an authorization that has paid to a facilitator that settles again: only the same settlement is. */

const upstream = useUpstream()
let service: Service
afterEach(() => service.close())

function started(): Call {
  service = createService({ sandbox: true, x402Settle: 'idempotent' })
  return caller({ url: service.baseUrl, fetch: service.fetch })
}

type Account = Awaited<ReturnType<typeof newWallet>>

interface Paid {
  readonly call: Call
  readonly account: Account
  readonly now: number
}

/** What has paid 0.01, and what it is sent for again. */
const attacks: Readonly<Record<string, (at: Paid) => Promise<object>>> = {
  async 'for more, after it has expired'({ call, account, now }) {
    const payment = await paymentOf(account, { validBefore: now / 1000 + 60 })
    await settle(call, payment)
    await setClock(call, now + 3_600_000)
    payment.paymentRequirements.amount = '1000000'
    return payment
  },
  async 'for another resource'({ call, account }) {
    const payment = await paymentOf(account)
    await settle(call, payment)
    payment.paymentPayload.resource.url = 'https://shop.example.test/another'
    return payment
  },
  async 'for another resource of version 1'({ call, account }) {
    const payment = await paymentV1Of(account)
    await settle(call, payment)
    payment.paymentRequirements.resource = 'https://shop.example.test/another'
    return payment
  },
  'after it bought a call of an item': ({ call, account }) => boughtAt(call, account, 'ok'),
  'while the call of an item holds it': ({ call, account }) => boughtAt(call, account, 'slow'),
}

async function boughtAt(call: Call, account: Account, path: string) {
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/${path}` })
  const { accepted } = offerIn(await callItem(call, item))
  const header = await payHeader(account, { accepted } as never)
  const bought = callItem(call, item, header)
  await (path === 'slow' ? expect.poll(() => upstream.requests.length).toBe(1) : bought)
  const paymentPayload = decodeHeader(header['payment-signature'] ?? '')
  return { x402Version: 2, paymentPayload, paymentRequirements: accepted }
}

test.each(Object.entries(attacks))('an authorization pays nothing more %s', async (_, attack) => {
  const call = started()
  const now = await stopClock(call)
  const account = await newWallet(call, 1)
  const payment = await attack({ call, account, now })
  for (const answer of [await verify(call, payment), await settle(call, payment)])
    expect([answer.status, answer.body.isValid ?? answer.body.success]).toEqual([200, false])
  expect(await heldBy(call, account.address)).toBe(0.99)
})
