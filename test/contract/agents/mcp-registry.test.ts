import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, readPages } from '../../support/scenes/market.js'
import { newSeller, newTwin, type Seller } from '../../support/scenes/world.js'

const GREETER = {
  name: 'Greeter',
  description: 'Says hello.',
  provider: 'Hello Works',
  price_per_call: 0.01,
  service_url: 'https://api.example.test/hello',
  service_method: 'GET',
  input_schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
}

const register = (call: Call, { token }: Pick<Seller, 'token'>, fields: object = {}) =>
  call('POST', '/v4/mcp/tools', { token, body: { ...GREETER, ...fields } })

contract('The registry of tools', (start) => {
  it('createTool makes a featured item, and names an account that has no name', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { status, body } = await register(call, seller)
    expect([status, body.tool]).toEqual([
      201,
      {
        id: expect.any(Number),
        ...GREETER,
        dq: expect.any(String),
        twin_id: expect.any(Number),
        twin_hostname: expect.any(String),
        active: true,
        created_at: expect.any(Number),
        updated_at: expect.any(Number),
      },
    ])
    const { items } = (await call('GET', '/v4/catalog/items')).body
    expect(items).toMatchObject([{ id: body.tool.id, price: 0.01, featured: true, seller: 'Hello Works' }])
    expect((await register(call, seller, { provider: 'Someone Else' })).body.tool.provider).toBe('Hello Works')
  })

  it('createTool needs only a name, a description, a price and an address, and takes a twin by id or hostname', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { name, description, price_per_call, service_url } = GREETER
    const least = await call('POST', '/v4/mcp/tools', {
      token: seller.token,
      body: { name, description, price_per_call, service_url },
    })
    expect(least.body.tool).toMatchObject({ service_method: 'POST', input_schema: { type: 'object', properties: {} } })
    expect(least.body.tool.provider).toBe(least.body.tool.twin_hostname)
    const twin = await newTwin(call, seller.token)
    for (const fields of [{ twin_id: twin.id }, { external_twin_hostname: twin.hostname }])
      expect((await register(call, seller, fields)).body.tool).toMatchObject({ twin_id: twin.id })
    const both = { twin_id: least.body.tool.twin_id, external_twin_hostname: twin.hostname }
    expectProblem(await register(call, seller, both), 400, 'field_invalid')
  })

  it('createTool refuses what cannot be sold', async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    const theirs = await newTwin(call, other.token)
    const refuse = async (fields: object, status: number, code: Parameters<typeof expectProblem>[2]) =>
      expectProblem(await register(call, seller, fields), status, code)
    await refuse({ twin_id: theirs.id }, 400, 'twin_unknown')
    await refuse({ external_twin_hostname: theirs.hostname }, 403, 'not_owner')
    await refuse({ external_twin_hostname: 'nobody.example.test' }, 404, 'not_found')
    await refuse({ price_per_call: 0.0001 }, 400, 'amount_invalid')
    await refuse({ service_url: 'ftp://api.example.test/' }, 422, 'upstream_refused')
    await refuse({ name: '' }, 400, 'field_invalid')
    expect((await call('GET', '/v4/mcp/tools', { token: seller.token })).body.tools).toEqual([])
  })

  it('createTool and updateTool activate no more tools than the plan allows', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const ids: number[] = []
    for (let n = 0; n < 25; n++) ids.push((await register(call, seller)).body.tool.id)
    expectProblem(await register(call, seller), 403, 'plan_limit_reached')
    const activate = (active: boolean) =>
      call('PUT', `/v4/mcp/tools/${ids[0]}`, { token: seller.token, body: { active } })
    expect((await activate(false)).status).toBe(200)
    expect((await register(call, seller)).status).toBe(201)
    expectProblem(await activate(true), 403, 'plan_limit_reached')
  })

  it("listTools lists the account's tools, newest first, without deleted ones", async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    const ids: number[] = []
    for (const name of ['One', 'Two', 'Three']) ids.unshift((await register(call, seller, { name })).body.tool.id)
    await call('POST', '/v4/catalog/items', {
      token: seller.token,
      body: { ...GREETER, price: 1, service_schema: GREETER.input_schema, external_endpoint: GREETER.service_url },
    })
    const { id } = (await register(call, other)).body.tool
    const pages = await readPages(call, '/v4/mcp/tools', { plural: 'tools', token: seller.token, limit: 2 })
    expect(pages.map((page) => page.map((tool) => tool.id))).toEqual([ids.slice(0, 2), ids.slice(2)])
    expectProblem(await call('GET', `/v4/mcp/tools?after=${id}`, { token: seller.token }), 400, 'cursor_invalid')
  })

  it('updateTool changes the given fields, and refuses what createTool refuses', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    const { tool } = (await register(call, seller)).body
    const theirs = await newTwin(call, other.token)
    const change = (body: object, { token }: Pick<Seller, 'token'> = seller) =>
      call('PUT', `/v4/mcp/tools/${tool.id}`, { token, body })
    const changed = await change({ price_per_call: 0.02, active: false })
    expect(changed.body.tool).toMatchObject({ name: 'Greeter', price_per_call: 0.02, active: false })
    expectProblem(await change({ name: 'Stolen' }, other), 404, 'not_found')
    expectProblem(await change({ twin_id: theirs.id }), 400, 'twin_unknown')
    expectProblem(await change({ external_twin_hostname: theirs.hostname }), 403, 'not_owner')
    expectProblem(await change({ price_per_call: -1 }), 400, 'amount_invalid')
    expectProblem(await change({ service_url: 'https://user:pass@api.example.test/' }), 422, 'upstream_refused')
  })

  it('deleteTool archives the item, which can be restored', { tags: 'everywhere' }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { tool } = (await register(call, seller)).body
    const remove = () => call('DELETE', `/v4/mcp/tools/${tool.id}`, { token: seller.token })
    expect((await remove()).status).toBe(204)
    expectProblem(await remove(), 404, 'not_found')
    expect((await call('GET', '/v4/mcp/tools', { token: seller.token })).body.tools).toEqual([])
    await call('POST', `/v4/catalog/items/${tool.id}/restore`, { token: seller.token })
    const { tools } = (await call('GET', '/v4/mcp/tools', { token: seller.token })).body
    expect(tools).toMatchObject([{ id: tool.id, active: false }])
  })
})
