import { client, Refusal } from 'farthing/client'
import { describe, expect, it, vi } from 'vitest'
import { waitAfter } from '../../adapters/client/call.js'
import { type Between, clientShop, refusing, watch } from '../support/scenes/client-shop.js'

const isPayment = (call: string) => call.startsWith('POST /v4/payment/')

/** A shop whose network does these things to the payments, one after the other, and then passes them on. */
async function shopWith(...failures: Between[]) {
  const shop = await clientShop()
  const left = [...failures]
  const watched = watch(shop.service, (passed, send) => {
    const failure = isPayment(passed.call) ? left.shift() : undefined
    return failure ? failure(passed, send) : send()
  })
  const ada = client(shop.service, { fetch: watched.fetch }).as(shop.user)
  const payments = () => watched.passed.filter(({ call }) => isPayment(call))
  const keys = () => payments().map(({ headers }) => headers.get('idempotency-key'))
  return { ...shop, ...watched, ada, payments, keys }
}

const cut: Between = async () => {
  throw new TypeError('fetch failed')
}
/** The payment is made, and its answer is lost. */
const lost: Between = async (_, send) => {
  await send()
  throw new TypeError('terminated')
}
const refuse =
  (...refusal: Parameters<typeof refusing>): Between =>
  async () =>
    refusing(...refusal)

describe('a call that cannot be answered', () => {
  it('is repeated with its key, and pays once', async () => {
    const { ada, hash, keys } = await shopWith(lost, lost)
    const paid = await ada.payments.create(hash)
    expect(keys()).toHaveLength(3)
    expect(new Set(keys()).size).toBe(1)
    expect(keys()[0]).toMatch(/^[0-9a-f]{32}$/)
    const { payments } = await ada.payments.list()
    expect(payments.map(({ id }) => id)).toEqual([paid.id])
  })

  it('has a key of its own each time it is made', async () => {
    const { ada, hash, keys } = await shopWith()
    await ada.payments.create(hash)
    await ada.payments.create(hash)
    expect(new Set(keys()).size).toBe(2)
    const options = { idempotencyKey: 'order-7' }
    const [first, second] = [await ada.payments.create(hash, {}, options), await ada.payments.create(hash, {}, options)]
    expect(first.id).toBe(second.id)
  })

  it.each([
    ['503 storage_unavailable', refuse(503, 'storage_unavailable', { 'retry-after': '0' })],
    ['409 idempotency_in_progress', refuse(409, 'idempotency_in_progress', { 'retry-after': '0' })],
    ['429 with Retry-After', refuse(429, 'too_many_tries', { 'retry-after': '0' })],
  ])('is repeated after %s', async (_, failure) => {
    const { ada, hash, keys } = await shopWith(failure, failure)
    expect((await ada.payments.create(hash)).amount).toBe(0.25)
    expect(keys()).toHaveLength(3)
  })

  it.each([
    ['429 without Retry-After', refuse(429, 'too_many_tries')],
    ['429 that asks for a minute', refuse(429, 'too_many_tries', { 'retry-after': '60' })],
    ['500 outcome_unknown', refuse(500, 'outcome_unknown')],
    ['409 of another code', refuse(409, 'price_changed', { 'retry-after': '0' })],
  ])('is not repeated after %s', async (_, failure) => {
    const { ada, hash, payments } = await shopWith(failure)
    await expect(ada.payments.create(hash)).rejects.toMatchObject({ operation: 'createPayment' })
    expect(payments()).toHaveLength(1)
  })

  it('is repeated twice, or as often as its options say', async () => {
    const { ada, hash, payments } = await shopWith(cut, cut, cut, cut)
    await expect(ada.payments.create(hash)).rejects.toThrow('fetch failed')
    expect(payments()).toHaveLength(3)
    await expect(ada.payments.create(hash, {}, { retries: 0 })).rejects.toThrow('fetch failed')
    expect(payments()).toHaveLength(4)
  })

  it('is not repeated without a key if it changes something', async () => {
    const { service, account } = await clientShop()
    const { fetch, calls } = watch(service, async ({ call }, send) => {
      if (call === 'PUT /v4/account') throw new TypeError('terminated')
      return send()
    })
    await expect(client(service, { fetch }).as(account).accounts.update({ name: 'Daily' })).rejects.toThrow(
      'terminated',
    )
    expect(calls().filter((call) => call === 'PUT /v4/account')).toHaveLength(1)
  })

  it('ends when its signal fires, also while it waits', async () => {
    const { ada, hash, payments } = await shopWith(refuse(503, 'storage_unavailable', { 'retry-after': '9' }))
    const controller = new AbortController()
    const call = ada.payments.create(hash, {}, { signal: controller.signal })
    await vi.waitFor(() => expect(payments()).toHaveLength(1))
    controller.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
    await expect(ada.payments.create(hash, {}, { signal: controller.signal })).rejects.toThrow('enough')
    expect(payments()).toHaveLength(1)
  })

  it('waits as long as it is asked to, or about twice as long each time', () => {
    const attempt = { number: 0, retries: 5, isRepeatable: true, hasKey: true }
    const asking = (seconds: string) =>
      new Refusal({
        ...{
          message: '',
          code: 'storage_unavailable',
          status: 503,
          operation: 'createPayment',
          docs: undefined,
          fields: {},
        },
        headers: new Headers({ 'retry-after': seconds }),
      })
    expect(waitAfter(asking('7'), attempt)).toBe(7000)
    expect(waitAfter(asking('11'), attempt)).toBeUndefined()
    expect(waitAfter(asking('soon'), attempt)).toBeLessThanOrEqual(100)
    for (const number of [0, 1, 2, 3]) {
      const wait = waitAfter(new TypeError('fetch failed'), { ...attempt, number })
      expect(wait).toBeGreaterThanOrEqual(50 * 2 ** number)
      expect(wait).toBeLessThanOrEqual(100 * 2 ** number)
    }
  })
})
