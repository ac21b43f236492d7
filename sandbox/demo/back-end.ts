import type { Service } from '../../src/core.js'
import * as z from '../../src/http/fields/zod.js'
import { moneyOf } from '../../src/market/embeds/browser/price.js'
import { restOfArticle, type Tune, tune } from '../shop/article.js'
import { bearerHeader, type ClientCredentials, callService, type Seller, validatePayment } from '../shop/seller.js'

export type Content = { readonly paragraphs: readonly string[] } | { readonly tune: Tune } | Record<string, never>

export interface Wallet {
  readonly hostname: string
  /** With its unit. */
  readonly balance: string
  readonly entries: readonly WalletRecord[]
}

export interface WalletRecord {
  readonly at: string
  readonly action: string
  readonly amount: string
  readonly other: string
}

type Shop = Seller & { readonly service: Pick<Service, 'sandbox'> }

/** The servers of the shop and the phone, by method and path below the worker's scope: ordinary clients of the service. */
export const backEnd: Readonly<Record<string, (shop: Shop, request: Request) => Promise<Response>>> = {
  async 'POST shop/unlock'(shop, request) {
    const { hash, nonce, timestamp } = Proof.parse(await request.json())
    const { status, body } = await validatePayment(shop, String(hash), { nonce, timestamp })
    const value = status === 200 ? { content: contentOf(shop, String(hash)), payment: body.payment } : body
    return Response.json(value, { status })
  },
  'GET shop/till': (shop) => answerWallet(shop, 'account', shop.demo.account),
  async 'GET phone/wallet'(shop) {
    const { users } = await shop.service.sandbox.credentials()
    const owner = users.find(({ email }) => email === shop.demo.reader.email)
    return owner ? answerWallet(shop, 'user', { ...shop.demo.reader, ...owner }) : notFound()
  },
}

function contentOf({ demo: { commodities } }: Shop, hash: string): Content {
  if (hash === commodities.article) return { paragraphs: restOfArticle }
  return hash === commodities.song ? { tune } : {}
}

const Proof = z.object({ hash: z.unknown(), nonce: z.unknown(), timestamp: z.unknown() })
const Balances = z.object({ balances: z.record(z.string(), z.number()) })
const Payment = z.object({
  created_at: z.number(),
  amount: z.number(),
  dq: z.string(),
  hostname: z.string(),
  payee_hostname: z.string(),
})

type Payment = z.output<typeof Payment>
const Payments = z.object({ payments: z.array(Payment) })
const Quantities = z.object({
  metadata: z.record(z.string(), z.object({ shortcode: z.string(), decimals: z.number() })),
})

type Owner = ClientCredentials & { readonly hostname: string }

async function answerWallet(shop: Shop, kind: 'account' | 'user', owner: Owner): Promise<Response> {
  const authorization = await bearerHeader(shop, kind, owner)
  if (authorization === undefined) return notFound()
  const [twin, quantities, made] = await Promise.all([
    callService(shop, 'GET', `/v4/twin/${owner.hostname}`, { authorization }),
    callService(shop, 'GET', '/v4/dq'),
    callService(shop, 'GET', '/v4/payments?limit=30', { authorization }),
  ])
  const [[dq, balance] = ['', 0]] = Object.entries(Balances.parse(twin.body).balances)
  const { metadata } = Quantities.parse(quantities.body)
  const shown = (dq: string, amount: number) => moneyOf(amount, metadata[dq] ?? { decimals: 2, shortcode: '' })
  const value: Wallet = {
    hostname: owner.hostname,
    balance: shown(dq, balance),
    entries: Payments.parse(made.body).payments.map((payment) => ({
      ...recordOf(payment, owner.hostname),
      amount: shown(payment.dq, payment.amount),
    })),
  }
  return Response.json(value)
}

function recordOf({ created_at, hostname, payee_hostname }: Payment, own: string): Omit<WalletRecord, 'amount'> {
  const sent = hostname === own
  const at = new Date(created_at * 1000).toISOString()
  return { at, action: sent ? 'send' : 'receive', other: sent ? payee_hostname : hostname }
}

const notFound = () =>
  Response.json({ error: 'This state does not have this wallet. Reset to get it back.' }, { status: 404 })
