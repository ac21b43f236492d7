import type { Service } from '../../src/core.js'
import * as z from '../../src/http/fields/zod.js'
import { restOfArticle } from '../shop/article.js'
import {
  bearerHeader,
  type ClientCredentials,
  callService,
  type Seller,
  sendToService,
  validatePayment,
} from '../shop/seller.js'
import { type Tune, tune } from '../shop/song.js'

/** What the payer gets for a payment. */
export type Content = { readonly paragraphs: readonly string[] } | { readonly tune: Tune } | Record<string, never>

/** A wallet as the device of its owner shows it. */
export interface Wallet {
  readonly hostname: string
  readonly balance: number
  readonly unit: string
  /** The latest records of the binder, newest first. */
  readonly entries: readonly WalletRecord[]
}

export interface WalletRecord {
  readonly at: string
  readonly action: string
  readonly amount: number
  /** The other party's hostname. */
  readonly other: string
}

/** The service with its controls. */
type Shop = Seller & { readonly service: Pick<Service, 'sandbox'> }

/**
 * The shop's server and the phone's server, by method and path below the worker's scope. Both are ordinary clients of the
 * service.
 */
export const backEnd: Readonly<Record<string, (shop: Shop, request: Request) => Promise<Response>>> = {
  /** Answers with the paid content if the service validates the payment. */
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
const Quantities = z.object({ metadata: z.record(z.string(), z.object({ shortcode: z.string() })) })

type Owner = ClientCredentials & { readonly hostname: string }

async function answerWallet(shop: Shop, kind: 'account' | 'user', owner: Owner): Promise<Response> {
  const authorization = await bearerHeader(shop, kind, owner)
  if (authorization === undefined) return notFound()
  const path = `/v4/twin/${owner.hostname}`
  const [twin, quantities, binder] = await Promise.all([
    callService(shop, 'GET', path, { authorization }),
    callService(shop, 'GET', '/v4/dq'),
    sendToService(shop, 'GET', `${path}/binder`, { authorization }).then((answer) => answer.text()),
  ])
  const [[dq, balance] = ['', 0]] = Object.entries(Balances.parse(twin.body).balances)
  const { metadata } = Quantities.parse(quantities.body)
  const value: Wallet = {
    hostname: owner.hostname,
    balance,
    unit: metadata[dq]?.shortcode ?? '',
    entries: binder.trim().split('\n').slice(1, 31).map(recordOf),
  }
  return Response.json(value)
}

/** Parses a line of the binder. Its fields contain no comma and no quote. */
function recordOf(line: string): WalletRecord {
  const [at = '', action = '', , , amount, from = '', to = ''] = line.trim().split(',')
  return { at, action, amount: Number(amount), other: from || to }
}

const notFound = () =>
  Response.json({ error: 'This state does not have this wallet. Reset to get it back.' }, { status: 404 })
