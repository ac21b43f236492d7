import { client } from 'farthing/client'
import { describe, expect, it } from 'vitest'
import { clientShop, watch } from '../support/scenes/client-shop.js'

/** A service that refuses everything that the live service is not known to have. */
const strictShop = () => clientShop({ evidence: 'observed' })

describe('a client of observed operations', () => {
  it('buys and validates against a strict service, without keys', async () => {
    const { service, account, user, hash } = await strictShop()
    const { fetch, passed } = watch(service)
    const root = client(service, { fetch, evidence: 'observed' })
    const paid = await root.as(user).payments.create(hash)
    const seller = root.as(account)
    expect(await seller.payments.validate(hash, { nonce: paid.nonce, timestamp: paid.timestamp })).toMatchObject({})
    expect(passed.length).toBeGreaterThan(3)
    expect(passed.filter(({ headers }) => headers.has('idempotency-key'))).toEqual([])
  })

  it('refuses a field of our own design itself, and sends nothing', async () => {
    const { service, user, hash } = await strictShop()
    const { fetch, passed } = watch(service)
    const ada = client(service, { fetch, evidence: 'observed' }).as(user)
    const refused = ada.payments.create(hash, { cost: 0.25 })
    await expect(refused).rejects.toMatchObject({ code: 'evidence_refused', status: 501, operation: 'createPayment' })
    await expect(refused).rejects.toThrow('The field "cost" is designed, and the evidence of this client is observed.')
    await expect(ada.payments.create(hash, {}, { idempotencyKey: 'order-7' })).rejects.toThrow('"idempotencyKey"')
    expect(passed).toEqual([])
    expect((await ada.payments.create(hash, { cost: undefined })).nonce).toEqual(expect.any(String))
  })

  it('reads a whole list, of which a strict service has one page', async () => {
    const { service, account } = await strictShop()
    const seller = client(service, { evidence: 'observed' }).as(account)
    const tool = { description: 'Repeats.', price_per_call: 0, service_url: 'https://echo.example.test' }
    for (const name of ['echo', 'repeat']) await seller.tools.create({ ...tool, name })
    const names: string[] = []
    for await (const item of seller.catalogItems.list()) names.push(item.commodity_name)
    expect(names).toEqual(['repeat', 'echo'])
  })

  it('knows a refusal without a code by its status', async () => {
    const { service, user } = await strictShop()
    const ada = client(service, { evidence: 'observed' }).as(user)
    const outcome = await ada.payments.create.try('no-such-hash')
    if (outcome.ok) throw new Error('it was paid')
    expect(outcome.refusal).toMatchObject({ code: 'unknown', status: 404, operation: 'createPayment' })
    expect(ada.payments.create.refused(outcome.refusal)).toBe(true)
  })

  it('refreshes a token that has expired, although no code says so', async () => {
    const { service, user } = await strictShop()
    const ada = client(service, { evidence: 'observed' }).as(user)
    await ada.twins.list()
    await service.sandbox.advance('2h')
    expect((await ada.twins.list()).twins).toHaveLength(1)
  })

  it('has earlier versions under the grade that they have', async () => {
    const { service, account, hash } = await strictShop()
    const root = client(service, { evidence: 'documented' })
    expect((await root.as(account).commodities.read_v2(hash)).hash).toBe(hash)
    expect(root.commodities).not.toHaveProperty('read')
    expect(root).not.toHaveProperty('health')
  })
})

describe('a client of everything at a strict service', () => {
  it('goes on without keys of its own once the service refuses one', async () => {
    const { service, user, hash } = await strictShop()
    const { fetch, passed } = watch(service)
    const ada = client(service, { fetch }).as(user)
    const keysOf = () => passed.splice(0).map(({ headers }) => headers.has('idempotency-key'))
    expect((await ada.payments.create(hash)).nonce).toEqual(expect.any(String))
    expect(keysOf()).toEqual([true, false, true, false])
    await ada.payments.create(hash)
    expect(keysOf()).toEqual([false])
  })

  it('does not repeat a call without a key after a cut', async () => {
    const { service, user, hash } = await strictShop()
    let cuts = 0
    const ada = client(service, {
      async fetch(input, init) {
        const answer = await service.fetch(input, init)
        if (!input.includes('/payment/') || !answer.ok) return answer
        cuts++
        throw new TypeError('the connection broke')
      },
    }).as(user)
    await expect(ada.payments.create(hash)).rejects.toThrow('the connection broke')
    expect(cuts).toBe(1)
  })

  it('leaves out no key that the caller chose, and no field', async () => {
    const { service, user, hash } = await strictShop()
    const ada = client(service).as(user)
    const refused = { code: 'evidence_refused', status: 501 }
    await expect(ada.payments.create(hash, {}, { idempotencyKey: 'order-7' })).rejects.toMatchObject(refused)
    await expect(ada.payments.create(hash, { cost: 0.25 })).rejects.toMatchObject(refused)
  })
})
