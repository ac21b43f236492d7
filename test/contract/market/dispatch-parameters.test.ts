import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newItem, newShop, putParameters } from '../../support/scenes/catalog.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newSeller } from '../../support/scenes/world.js'

const KEY = { kind: 'header', name: 'Authorization', sensitive: true, value: 'Bearer sk_live_1' }
const PLAN = { kind: 'query', name: 'plan', sensitive: false, value: 'gold' }

contract('listDispatchParameters and replaceDispatchParameters', (start) => {
  it('PUT and GET /v4/catalog/items/{id}/parameters show seven fields, without the value of a sensitive one', {
    tags: 'everywhere',
  }, async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const { status, body } = await putParameters(call, seller, item, [KEY, { ...PLAN, sensitive: undefined }])
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const common = { id: expect.any(Number), value_set: true, updated_at: time }
    expect([status, body]).toEqual([
      200,
      {
        parameters: [
          { ...KEY, ...common, value: null },
          { ...PLAN, ...common },
        ],
      },
    ])
    const shown = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
    expect(shown.body).toEqual(body)
    expect(shown.text).not.toContain('sk_live_1')
  })

  it('PUT keeps parameters by id, with their value by default, and deletes those that are not listed', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const before = (await putParameters(call, seller, item, [KEY, PLAN])).body.parameters
    const same = (await putParameters(call, seller, item, before)).body.parameters
    expect(same).toEqual(before)
    const [key, plan] = before
    const changed = [
      { ...plan, value: 'silver' },
      { kind: 'url', name: 'plan', value: 'x' },
    ]
    const after = (await putParameters(call, seller, item, changed)).body.parameters
    expect(after).toMatchObject([
      { id: plan.id, value: 'silver' },
      { kind: 'url', value: 'x', sensitive: false },
    ])
    const gone = await putParameters(call, seller, item, [key])
    expectProblem(gone, 400, 'field_invalid')
    expect(gone.body.field).toBe('parameters.0.id')
    expect((await putParameters(call, seller, item, [])).body).toEqual({ parameters: [] })
  })

  it('a sensitive parameter becomes visible only with a new value', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const [key] = (await putParameters(call, seller, item, [KEY])).body.parameters
    expectProblem(await putParameters(call, seller, item, [{ ...key, sensitive: false }]), 400, 'field_invalid')
    const [kept] = (await putParameters(call, seller, item, [{ ...key, sensitive: undefined }])).body.parameters
    expect(kept).toEqual(key)
    const [open] = (await putParameters(call, seller, item, [{ ...key, sensitive: false, value: 'new' }])).body
      .parameters
    expect(open).toMatchObject({ id: key.id, sensitive: false, value: 'new' })
  })

  it.each([
    ['Host'],
    ['content-length'],
    ['Transfer-Encoding'],
    ['Connection'],
    ['Keep-Alive'],
    ['Proxy-Authorization'],
    ['TE'],
    ['Trailer'],
    ['Upgrade'],
    ['Cookie'],
    ['Via'],
    ['Accept-Encoding'],
    ['Sec-Fetch-Site'],
  ])('refuses the header %s', async (name) => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const refused = await putParameters(call, seller, item, [{ kind: 'header', name, value: 'x' }])
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('parameters.0.name')
  })

  it.each([
    ['no name', [{ ...PLAN, name: '' }]],
    ['a name of two words', [{ ...PLAN, name: 'a b' }]],
    ['a name of 65 characters', [{ ...PLAN, name: 'x'.repeat(65) }]],
    ['another kind', [{ ...PLAN, kind: 'body' }]],
    ['no value', [{ ...PLAN, value: undefined }]],
    ['null for a value', [{ ...PLAN, value: null }]],
    ['a value of more than 8 KiB', [{ ...PLAN, value: 'é'.repeat(4097) }]],
    ['a header of two lines', [{ ...KEY, value: 'a\r\nX-Evil: 1' }]],
    ['a header of other characters', [{ ...KEY, value: 'a\u2028b' }]],
    ['a header with blanks around it', [{ ...KEY, value: ' padded ' }]],
    ['the same name twice', [PLAN, PLAN]],
    ['the same header twice', [KEY, { ...KEY, name: 'authorization' }]],
    ['33 of them', Array.from({ length: 33 }, (_, n) => ({ ...PLAN, name: `p${n}` }))],
  ])('refuses %s, and changes nothing', async (_, parameters) => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const { body } = await putParameters(call, seller, item, [{ ...PLAN, name: 'kept' }])
    expectProblem(await putParameters(call, seller, item, parameters), 400, 'field_invalid')
    const shown = await call('GET', `/v4/catalog/items/${item.id}/parameters`, { token: seller.token })
    expect(shown.body).toEqual(body)
  })

  it('refuses parameters of a different item, and treats items of others as unknown', async () => {
    const {
      call,
      made: { seller, item },
    } = await startWith(start, newShop)
    const other = await newItem(call, seller)
    const [plan] = (await putParameters(call, seller, item, [PLAN])).body.parameters
    expectProblem(await putParameters(call, seller, other, [plan]), 400, 'field_invalid')
    expectProblem(await putParameters(call, seller, item, [plan, { ...plan, name: 'b' }]), 400, 'field_invalid')
    const stranger = await newSeller(call)
    expectProblem(await putParameters(call, stranger, item, []), 404, 'not_found')
    const path = `/v4/catalog/items/${item.id}/parameters`
    expectProblem(await call('GET', path, { token: stranger.token }), 404, 'not_found')
    expect((await call('GET', path, { token: seller.token })).body.parameters).toEqual([plan])
  })

  it('stores all values encrypted', async () => {
    const {
      call,
      state,
      made: { seller, item },
    } = await startWith(start, newShop)
    await putParameters(call, seller, item, [KEY, { ...PLAN, value: 'gold-and-silver' }])
    const rest = JSON.stringify(await state())
    expect(rest).toContain('Authorization')
    expect(rest).not.toContain('sk_live_1')
    expect(rest).not.toContain('gold-and-silver')
  })
})
