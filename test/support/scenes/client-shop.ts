import { onTestFinished } from 'vitest'
import { createService, type Service, type ServiceOptions } from '../../../src/index.js'

/** A shop with an article and a user who can pay for it. */
export async function clientShop(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, ...options })
  onTestFinished(() => service.close())
  const seeded = await service.sandbox.seed({
    accounts: [{ name: 'News' }],
    users: [{ email: 'ada@example.test', balance: 10 }],
    commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
  })
  const [account] = seeded.accounts
  const [user] = seeded.users
  const [commodity] = seeded.commodities
  if (!account || !user || !commodity) throw new Error('the seed made nothing')
  return { service, account, user, hash: commodity.hash }
}

export interface Passed {
  /** Such as `POST /v4/payment/1`. */
  readonly call: string
  readonly headers: Headers
  readonly body: string | undefined
}

/** What stands in for the network: it may answer, throw, or pass the request on. */
export type Between = (passed: Passed, send: () => Promise<Response>) => Promise<Response>

/** A `fetch` that remembers what passes it. */
export function watch(service: Service, between: Between = (_, send) => send()) {
  const passed: Passed[] = []
  const fetch = (url: string, init: RequestInit): Promise<Response> => {
    const { pathname, search } = new URL(url)
    const body = typeof init.body === 'string' ? init.body : undefined
    const one = { call: `${init.method} ${pathname}${search}`, headers: new Headers(init.headers), body }
    passed.push(one)
    return between(one, () => service.fetch(url, init))
  }
  return { fetch, passed, calls: () => passed.map(({ call }) => call) }
}

/** A refusal as the service writes it. */
export const refusing = (status: number, code: string, headers: Record<string, string> = {}): Response =>
  Response.json({ error: `The service says ${code}.`, status, code }, { status, headers })
