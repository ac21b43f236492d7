import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { routeList } from '../../scripts/route-table.js'
import type { Answer, Call, CallOptions } from '../support/api.js'
import { attackedEach } from '../support/scenes/attacked.js'
import { cardMessages, makeCheckout, newCheckout, newShop, readCheckout } from '../support/scenes/checkout.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { mailedCode, verify } from '../support/scenes/sign-in.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { defaultDq } from '../support/scenes/world.js'

/** A caller without a session loses the answer, and asks again with the same key: nothing is doubled, and nothing is lost. */

const upstream = useUpstream()
const { call, running } = attackedEach()

const keyed = (key: string, body?: object): CallOptions => ({
  headers: { 'idempotency-key': key },
  ...(body && { body }),
})

const isReplay = ({ headers }: Answer): boolean => headers.get('idempotent-replayed') === 'true'

const sessionIn = ({ headers }: Answer): string => headers.get('x-session-id') as string

interface Retried {
  /** Sends the request with a key, and without a session. */
  send(key: string): Promise<Answer>
  /** What the first request of its kind needs. */
  status: number
  /** Whether what it made can still be used, by the session that the retry got. */
  isUsable?(again: Answer): Promise<boolean>
}

const newItem = async (ask: Call) => newShop(ask, `${upstream.url}/ok`)

/** Every operation that takes a key, and callers without a session. */
const operations: Record<string, (ask: Call) => Promise<Retried>> = {
  createAccount: async (ask) => ({ send: (key) => ask('POST', '/v4/account', keyed(key, {})), status: 201 }),
  registerAccount: async (ask) => {
    const dq = await defaultDq(ask)
    return {
      send: (key) => ask('POST', '/v4/account/register', keyed(key, { dq, email: 'new@example.test' })),
      status: 201,
    }
  },
  createCheckout: async (ask) => {
    const shop = await newItem(ask)
    return {
      send: (key) => makeCheckout(ask, shop, {}, keyed(key)),
      status: 201,
      isUsable: async ({ body }) => (await readCheckout(ask, body)).status === 200,
    }
  },
  completeCheckout: async (ask) => {
    const link = await newCheckout(ask, await newItem(ask))
    const body = { payment_method_id: 'pm_card_visa' }
    return {
      send: (key) => ask('POST', `/v4/checkout/${link.token}/complete`, keyed(key, body)),
      status: 200,
      // The page of the link shows its content to the session that paid.
      isUsable: async (again) => {
        const { body: paid } = await ask('POST', `/v4/checkout/${link.token}/complete`, {
          session: sessionIn(again),
          body,
        })
        const charged = await cardMessages(ask, 'card')
        return (
          paid.receipt?.response?.status === 200 && again.body.receipt.response.status === 200 && charged.length === 1
        )
      },
    }
  },
  createCart: async (ask) => ({
    send: (key) => ask('POST', '/v4/carts', keyed(key)),
    status: 201,
    isUsable: async (again) =>
      (await ask('GET', `/v4/carts/${again.body.id}`, { session: sessionIn(again) })).status === 200,
  }),
  addCartItem: async (ask) => {
    const { item } = await newItem(ask)
    // The cart of a session belongs to that, so a caller without one has none.
    const body = { catalog_item_id: item.id, arguments: { topic: 'birds' } }
    return { send: (key) => ask('POST', '/v4/carts/1/items', keyed(key, body)), status: 404 }
  },
  payCart: async (ask) => ({ send: (key) => ask('POST', '/v4/carts/1/pay', keyed(key, {})), status: 404 }),
  sendSessionCode: async (ask) => ({
    send: (key) => ask('POST', '/v4/session/code', keyed(key, { email: 'ada@example.test' })),
    status: 202,
    async isUsable(again) {
      const code = await mailedCode(ask, 'ada@example.test')
      return (await verify(ask, sessionIn(again), 'ada@example.test', code)).status === 200
    },
  }),
  registerOidcClient: async (ask) => {
    const body = { client_name: 'Errand Runner', redirect_uris: ['https://app.example.test/callback'] }
    return { send: (key) => ask('POST', '/v4/oidc/reg', keyed(key, body)), status: 201 }
  },
  // Its key belongs to the code or the refresh token (lost-answers.test.ts).
  createOidcToken: async (ask) => {
    const form = { grant_type: 'refresh_token', refresh_token: 'none', client_id: 'none' }
    return { send: (key) => ask('POST', '/v4/oidc/token', { ...keyed(key), form }), status: 401 }
  },
}

/** How many rows there are of everything but the journal of the calls themselves. */
async function counted(): Promise<Record<string, number>> {
  const { rows } = await running().state()
  return Object.fromEntries(Object.entries(rows).map(([name, list]) => [name, list.length]))
}

describe('a retry without a session, with the key of the first try,', () => {
  it.each(Object.entries(operations))('doubles nothing and loses nothing: %s', async (_, prepare) => {
    const { send, status, isUsable } = await prepare(call)
    const key = randomUUID()
    const first = await send(key)
    expect(first.status, first.text).toBe(status)
    const before = await counted()
    const again = await send(key)
    expect([again.status, again.text, isReplay(again)]).toEqual([status, first.text, status < 300])
    expect(sessionIn(again)).toBe(sessionIn(first))
    expect(await counted()).toEqual(before)
    expect((await isUsable?.(again)) ?? true).toBe(true)
    await expectSoundLedger(call)
  })

  it('is in this table for every operation that takes a key and such callers', () => {
    const taking = routeList.filter(
      ({ idempotent, auth }) => idempotent && auth.some((kind) => kind === 'guest' || kind === 'none'),
    )
    expect(Object.keys(operations).sort()).toEqual(taking.map(({ id }) => id).sort())
  })
})

describe('the key of a guest without a session', () => {
  it('leads whoever made the link nowhere: they know the link, but not the key', async () => {
    const link = await newCheckout(call, await newItem(call))
    const pay = (options: CallOptions) => call('POST', `/v4/checkout/${link.token}/complete`, options)
    const body = { payment_method_id: 'pm_card_visa' }
    const sessions: (string | null)[] = []
    for (const early of [{}, body]) sessions.push(sessionIn(await pay(keyed('1', early))))
    const other = await newCheckout(call, await newItem(call))
    const payOther = (options: CallOptions) => call('POST', `/v4/checkout/${other.token}/complete`, options)
    sessions.push(sessionIn(await payOther(keyed('1', {}))))
    const paid = await payOther(keyed('1', body))
    expect(paid.status).toBe(200)
    expect(sessions).not.toContain(sessionIn(paid))
    for (const session of sessions.filter((each) => each !== null))
      expect([(await payOther({ session, body })).body.code]).toEqual(['checkout_paid'])
    expect((await payOther(keyed('1', body))).body.code).toBe('checkout_paid')
  })

  it('gives nobody the session or the content who guesses a part of it', async () => {
    const shop = await newItem(call)
    const [link, other] = [await newCheckout(call, shop), await newCheckout(call, shop)]
    const body = { payment_method_id: 'pm_card_visa' }
    const key = randomUUID()
    const pay = (token: string, options: CallOptions) => call('POST', `/v4/checkout/${token}/complete`, options)
    const paid = await pay(link.token, keyed(key, body))
    expect(paid.status).toBe(200)
    const strangers = [
      await pay(link.token, { body }),
      await pay(link.token, keyed('1', body)),
      await pay(link.token, keyed(randomUUID(), body)),
    ]
    for (const stranger of strangers) {
      expect([stranger.status, stranger.body.code]).toEqual([409, 'checkout_paid'])
      expect(sessionIn(stranger)).not.toBe(sessionIn(paid))
    }
    const elsewhere = await pay(other.token, keyed(key, body))
    expect([elsewhere.status, isReplay(elsewhere)]).toEqual([200, false])
    expect(sessionIn(elsewhere)).not.toBe(sessionIn(paid))
  })

  it.each(Object.entries(operations))('is ignored if others could guess it: %s', async (_, prepare) => {
    const { send } = await prepare(call)
    const answers = [await send('order-1'), await send('order-1')]
    const sessions = answers.map(sessionIn).filter((session) => session !== null)
    expect(new Set(sessions).size).toBe(sessions.length)
    expect(answers.map(isReplay)).toEqual([false, false])
  })

  it('leads to no session in a refusal, and to another one with another body', async () => {
    const link = await newCheckout(call, await newItem(call))
    const key = randomUUID()
    const pay = (options: CallOptions) => call('POST', `/v4/checkout/${link.token}/complete`, options)
    const refused = await pay(keyed(key, { payment_method_id: 7 }))
    expect([refused.status, sessionIn(refused), refused.headers.get('set-cookie')]).toEqual([400, null, null])
    const email = (address: string) => call('POST', '/v4/session/code', keyed(key, { email: address }))
    const [one, two] = [await email('ada@example.test'), await email('bob@example.test')]
    expect([one.status, two.status]).toEqual([202, 202])
    expect(sessionIn(one)).not.toBe(sessionIn(two))
    const paid = await pay(keyed(key, { payment_method_id: 'pm_card_visa' }))
    expect(paid.status).toBe(200)
    const guessed = await pay(keyed(key, { payment_method_id: 'pm_card_visa', x: 1 }))
    expect([guessed.status, sessionIn(guessed)]).toEqual([409, null])
  })

  it('does not lead to the session of whoever signed in with it since', async () => {
    const key = randomUUID()
    const send = () => call('POST', '/v4/session/code', keyed(key, { email: 'ada@example.test' }))
    const before = sessionIn(await send())
    const signedIn = await verify(call, before, 'ada@example.test', await mailedCode(call, 'ada@example.test'))
    expect(sessionIn(signedIn)).not.toBe(before)
    const later = sessionIn(await send())
    expect((await call('GET', '/v4/session', { session: later })).body.user).toBeNull()
  })
})
