import { client, isRefusal, Refusal } from 'farthing/client'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { clientShop, watch } from '../support/scenes/client-shop.js'

describe('the client', () => {
  it('pays for a commodity with the credentials of a seed', async () => {
    const { service, account, user, hash } = await clientShop()
    const ada = client(service).as(user)
    const paid = await ada.payments.create(hash, { cost: 0.25 })
    expectTypeOf(paid.amount).toEqualTypeOf<number>()
    expect(paid.amount).toBe(0.25)
    const seller = client(service).as(account)
    const { valid } = await seller.payments.validate(hash, { nonce: paid.nonce, timestamp: paid.timestamp })
    expectTypeOf(valid).toEqualTypeOf<true>()
    expect(valid).toBe(true)
  })

  it('throws a refusal with the fields of its code', async () => {
    const { service, user, hash } = await clientShop()
    const ada = client(service).as(user)
    const error: unknown = await ada.payments.create(hash, { cost: 0.2 }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(Refusal)
    if (!ada.payments.create.refused(error) || error.code !== 'price_changed') throw error
    expectTypeOf(error.status).toEqualTypeOf<409>()
    expectTypeOf(error.price).toEqualTypeOf<number | undefined>()
    expect(error).toMatchObject({ code: 'price_changed', status: 409, price: 0.25, operation: 'createPayment' })
    expect(error.docs).toBe('npx farthing explain price_changed')
    expect(ada.payments.list.refused(error)).toBe(false)
    expect(isRefusal(error, 'price_changed')).toBe(true)
    expect(isRefusal(error, 'not_found')).toBe(false)
  })

  it('returns a refusal from try', async () => {
    const { service, user, hash } = await clientShop()
    const ada = client(service).as(user)
    const outcome = await ada.payments.create.try(hash, { cost: 0.2 })
    if (outcome.ok) throw new Error('it was paid')
    if (outcome.refusal.code === 'price_changed')
      expectTypeOf(outcome.refusal.price).toEqualTypeOf<number | undefined>()
    expect(outcome.refusal.code).toBe('price_changed')
  })

  it('iterates over every item of a list, page by page', async () => {
    const { service, user, hash } = await clientShop()
    const ada = client(service).as(user)
    for (let paid = 0; paid < 3; paid++) await ada.payments.create(hash)
    const ids: number[] = []
    for await (const payment of ada.payments.list({ limit: 2 })) ids.push(payment.id)
    expect(ids).toHaveLength(3)
    const page = await ada.payments.list({ limit: 2 })
    expect(page.payments.map(({ id }) => id)).toEqual(ids.slice(0, 2))
  })

  it('iterates over pages, from where its fields say, and reads nothing before it is asked', async () => {
    const { service, account } = await clientShop()
    const { fetch, calls } = watch(service)
    const seller = client(service, { fetch }).as(account)
    const tool = { description: 'Repeats.', price_per_call: 0, service_url: 'https://echo.example.test' }
    for (const name of ['one', 'two', 'three']) await seller.tools.create({ ...tool, name })
    const before = calls().length
    const list = seller.catalogItems.list({ limit: 1, offset: 1 })
    expect(calls()).toHaveLength(before)
    const names: string[] = []
    for await (const page of list.pages()) names.push(page.items.map(({ name }) => name).join())
    expect(names).toEqual(['two', 'one'])
    expect(calls().slice(before)).toEqual([
      'GET /v4/catalog/items?limit=1&offset=1',
      'GET /v4/catalog/items?limit=1&offset=2',
    ])
    expect(await seller.tools.list.try({ after: 999_999 })).toMatchObject({
      ok: false,
      refusal: { code: 'cursor_invalid' },
    })
  })

  it('reads CSV and pages as texts, PDF as bytes, and relayed answers as they are', async () => {
    const { service, account, user, hash } = await clientShop()
    const ada = client(service).as(user)
    await ada.payments.create(hash)
    const [{ hostname } = { hostname: '' }] = (await ada.twins.list()).twins
    const binder = await ada.binders.read(hostname)
    expectTypeOf(binder).toEqualTypeOf<string>()
    expect(binder.split('\n')[0]).toContain('fileAction')
    await expect(client(service).binders.import(hostname, binder)).rejects.toThrow('It has a history already')
    const seller = client(service).as(account)
    expectTypeOf(seller.invoicePdfs.read).returns.resolves.toEqualTypeOf<Uint8Array<ArrayBuffer>>()
    expectTypeOf(seller.paywall.call).returns.resolves.toEqualTypeOf<Response>()
    expect(await client(service).sandbox.reset()).toBeUndefined()
  })

  it('explains a wrong argument before it sends anything', async () => {
    const { service, user, hash } = await clientShop()
    const { fetch, passed } = watch(service)
    const ada = client(service, { fetch }).as(user)
    // @ts-expect-error a number is not a hash
    const numbered = ada.payments.create(7, 'NEWS')
    await expect(numbered).rejects.toThrow('The fields of payments.create are an object, not "NEWS".')
    // @ts-expect-error the hash is missing
    await expect(ada.payments.create()).rejects.toThrow(
      'Argument 1 of payments.create is its hash: a text or a number, not undefined.',
    )
    for (const hostname of ['', '.', '..'])
      await expect(ada.twins.read(hostname)).rejects.toThrow('Argument 1 of twins.read is its hostname')
    // @ts-expect-error an unknown option
    await expect(ada.payments.create(hash, {}, { timeout: 5 })).rejects.toThrow(
      'payments.create has no option "timeout".',
    )
    // @ts-expect-error no operation takes that much
    await expect(ada.payments.create(hash, {}, {}, {})).rejects.toThrow('payments.create takes at most 3 arguments.')
    const keyed = ada.twins.read('a', {}, { idempotencyKey: 'order-7' })
    await expect(keyed).rejects.toThrow('readTwin accepts no idempotencyKey.')
    // @ts-expect-error an amount is no boolean
    const untyped = () => ada.payments.create(hash, { cost: true })
    expect(untyped).toBeTypeOf('function')
    expect(passed).toEqual([])
  })

  it('keeps a path parameter in its place', async () => {
    const { service, user } = await clientShop()
    const { fetch, calls } = watch(service)
    const ada = client(service, { fetch }).as(user)
    await expect(ada.twins.read('../accounts?x=1#y')).rejects.toMatchObject({ status: 404 })
    expect(calls().at(-1)).toBe('GET /v4/twin/..%2Faccounts%3Fx%3D1%23y')
  })

  it('explains a wrong target, wrong credentials and a wrong grade', () => {
    const from = (target: unknown) => () => client(target as string)
    for (const none of [undefined, null, {}, Promise.resolve()])
      expect(from(none)).toThrow('client needs a service or its URL')
    for (const wrong of ['127.0.0.1:4242', 'ftp://pay.example.test', '/v4'])
      expect(from(wrong)).toThrow('The URL of a service begins with http:// or https://')
    const root = client('http://127.0.0.1:4242')
    for (const nobody of [undefined, {}, { client_id: 'mid_1' }])
      expect(() => root.as(nobody as never)).toThrow('as() needs credentials')
    expect(() => client('http://127.0.0.1:4242', { evidence: 'live' as never })).toThrow('evidence must be')
  })

  it('calls a service below a path, at any URL, with any fetch', async () => {
    const urls: string[] = []
    const fetch = async (url: string) => {
      urls.push(url)
      return Response.json({ digital_quantities: [], metadata: {} })
    }
    for (const target of ['https://pay.example.test/micro/', new URL('https://pay.example.test')])
      await client(target, { fetch }).digitalQuantities.list()
    expect(urls).toEqual(['https://pay.example.test/micro/v4/dq', 'https://pay.example.test/v4/dq'])
    vi.stubGlobal('fetch', fetch)
    onTestFinished(() => void vi.unstubAllGlobals())
    await client('https://later.example.test').digitalQuantities.list()
    expect(urls.at(-1)).toBe('https://later.example.test/v4/dq')
  })

  it('knows an answer that no service of ours wrote', async () => {
    const page = async () => new Response('<h1>Bad Gateway</h1>', { status: 502 })
    const outcome = await client('https://pay.example.test', { fetch: page }).digitalQuantities.list.try()
    expect(outcome).toMatchObject({
      ok: false,
      refusal: { code: 'unknown', status: 502, message: 'GET /v4/dq answered 502.', docs: undefined },
    })
  })
})
