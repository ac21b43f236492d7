import type { Service } from '../../src/core.js'
import * as z from '../../src/http/fields/zod.js'
import { restOfArticle } from '../shop/article.js'
import { ask, bearer, type ClientCredentials, call, type Seller, validate } from '../shop/seller.js'
import { type Tune, tune } from '../shop/song.js'

/** What each payment brings, by the commodity's hash. */
export type Content = { readonly paragraphs: readonly string[] } | { readonly tune: Tune } | Record<string, never>

/** A wallet as its owner's device shows it. */
export interface Purse {
  readonly hostname: string
  readonly balance: number
  readonly unit: string
  /** The binder's latest records, newest first. */
  readonly entries: readonly Entry[]
}

export interface Entry {
  readonly at: string
  readonly action: string
  readonly amount: number
  /** The other party's hostname. */
  readonly other: string
}

/** The service, and its controls where it has them. */
type Shop = Seller & { readonly service: Pick<Service, 'sandbox'> }

/**
 * The server of the shop, and that of the reader's phone, each a client of the service as any other:
 * answers by method and path below the worker's scope.
 */
export const backEnd: Readonly<Record<string, (shop: Shop, request: Request) => Promise<Response>>> = {
  /** Gives what was paid for to whoever shows a payment that the service finds valid. */
  async 'POST shop/unlock'(shop, request) {
    const { hash, nonce, timestamp } = Proof.parse(await request.json())
    const { status, body } = await validate(shop, String(hash), { nonce, timestamp })
    const value = status === 200 ? { content: contentOf(shop, String(hash)), payment: body.payment } : body
    return Response.json(value, { status })
  },
  'GET shop/till': (shop) => purse(shop, 'account', shop.demo.account),
  async 'GET phone/wallet'(shop) {
    const { users } = await shop.service.sandbox.credentials()
    const owner = users.find(({ email }) => email === shop.demo.reader.email)
    return owner ? purse(shop, 'user', { ...shop.demo.reader, ...owner }) : unknown()
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

async function purse(shop: Shop, kind: 'account' | 'user', owner: Owner): Promise<Response> {
  const authorization = await bearer(shop, kind, owner)
  if (authorization === undefined) return unknown()
  const path = `/v4/twin/${owner.hostname}`
  const [twin, quantities, binder] = await Promise.all([
    call(shop, 'GET', path, { authorization }),
    call(shop, 'GET', '/v4/dq'),
    ask(shop, 'GET', `${path}/binder`, { authorization }).then((answer) => answer.text()),
  ])
  const [[dq, balance] = ['', 0]] = Object.entries(Balances.parse(twin.body).balances)
  const { metadata } = Quantities.parse(quantities.body)
  const value: Purse = {
    hostname: owner.hostname,
    balance,
    unit: metadata[dq]?.shortcode ?? '',
    entries: binder.trim().split('\n').slice(1, 31).map(entryOf),
  }
  return Response.json(value)
}

/** A line of the binder: no field of it holds a comma or a quote. */
function entryOf(line: string): Entry {
  const [at = '', action = '', , , amount, from = '', to = ''] = line.trim().split(',')
  return { at, action, amount: Number(amount), other: from || to }
}

const unknown = () => Response.json({ error: 'Nobody by that name is in this state.' }, { status: 404 })
