import { createService, type Service } from 'farthing'
import { caller } from '../../support/api.js'
import { newWallet, paymentOf } from '../../support/scenes/x402.js'

/** A shop that has each order paid by x402: it sends its buyer's signed payment to be settled. */

export async function settlingShop() {
  const service = createService({ sandbox: true, x402Settle: 'idempotent' })
  const account = await newWallet(caller({ url: 'http://localhost', fetch: service.fetch }), 5)
  return { service, account }
}

type Shop = Awaited<ReturnType<typeof settlingShop>>
export type SettlingApplication = (shop: Shop) => (fork: Service) => Promise<unknown>

interface Settled {
  readonly success: boolean
  readonly errorReason?: string
}

let orders = 0
const newOrder = () => ({ info: { required: false, id: `order_${String(++orders).padStart(16, '0')}` } })

type Settle = (payment: object) => Promise<{ readonly ok: boolean; readonly body: Settled }>

/** Sends a payment until there is an answer. It changes nothing twice, because its buyer has named it. */
const settleAt =
  (fork: Service): Settle =>
  async (payment) => {
    for (let left = 4; ; left--) {
      const answer = await fork
        .fetch('/x402/settle', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(payment),
        })
        .catch(() => undefined)
      if (answer && answer.status < 500) return { ok: answer.ok, body: (await answer.json()) as Settled }
      if (left === 1) throw new Error('The facilitator does not answer.')
    }
  }

const isPending = ({ errorReason }: Settled): boolean => errorReason === 'settlement_pending'

/** Shops with one bug each. */
export const buggyShops: Readonly<Record<string, SettlingApplication>> = {
  'trusts 200 with `success: false`':
    ({ account }) =>
    async (fork) => {
      const settle = settleAt(fork)
      const payment = await paymentOf(account, { extensions: { 'payment-identifier': newOrder() } })
      let settled = await settle(payment)
      while (isPending(settled.body)) settled = await settle(payment)
      return settled.ok ? 'the report' : 'declined'
    },
  'never polls':
    ({ account }) =>
    async (fork) => {
      const payment = await paymentOf(account, { extensions: { 'payment-identifier': newOrder() } })
      const { body } = await settleAt(fork)(payment)
      return body.success ? 'the report' : 'declined'
    },
  'signs a new nonce while one is pending':
    ({ account }) =>
    async (fork) => {
      const settle = settleAt(fork)
      for (let left = 3; left > 0; left--) {
        const { body } = await settle(await paymentOf(account))
        if (body.success) return 'the report'
        if (!isPending(body)) return 'declined'
      }
      throw new Error('It stays pending.')
    },
}

/** Shops without a bug. */
export const correctShops: Readonly<Record<string, SettlingApplication>> = {
  'settles the same payment again while it is pending':
    ({ account }) =>
    async (fork) => {
      const settle = settleAt(fork)
      const payment = await paymentOf(account, { extensions: { 'payment-identifier': newOrder() } })
      let { body } = await settle(payment)
      while (isPending(body)) body = (await settle(payment)).body
      return body.success ? 'the report' : 'declined'
    },
  'signs anew under the same identifier':
    ({ account }) =>
    async (fork) => {
      const settle = settleAt(fork)
      const extensions = { 'payment-identifier': newOrder() }
      const sent = async () => (await settle(await paymentOf(account, { extensions }))).body
      let body = await sent()
      while (isPending(body)) body = await sent()
      return body.success ? 'the report' : 'declined'
    },
}
