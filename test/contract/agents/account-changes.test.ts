import { expect, it, test } from 'vitest'
import { routes } from '../../../scripts/route-table.js'
import type { Writer } from '../../../src/storage/storage.js'
import { type Call, caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import {
  applyChange,
  approvedChange,
  type Business,
  newBusiness,
  newOwnAccount,
  pressApproval,
  requestChange,
} from '../../support/scenes/account-changes.js'
import { changeItem, newItem, WEATHER } from '../../support/scenes/catalog.js'
import { expectProblem } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newSession } from '../../support/scenes/world.js'
import { startFailing } from '../../support/storage/failing-storage.js'

const ENDPOINT = 'https://api.example.test/weather'
const NEW_ITEM = { kind: 'create_item', ...WEATHER, external_endpoint: ENDPOINT }

const itemsOf = async (call: Call, { seller }: Business) => (await call('GET', '/v4/catalog/mine', seller)).body.items
const twinsOf = async (call: Call, { seller }: Business) => (await call('GET', '/v4/twins', seller)).body.twins

contract('applyAccountChange', (start) => {
  it('POST /v4/agent/account-changes changes an item as its owner approved, once, and never shows its endpoint', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, session } = business
    const item = await newItem(call, seller)
    const fields = { name: 'City rain', price: 0.5, external_endpoint: `${ENDPOINT}/2`, featured: true, active: false }
    const change = { kind: 'update_item', catalog_item_id: item.id, ...fields }
    const asked = await requestChange(call, agent, change)
    expect(asked.body).toMatchObject({
      kind: 'account_change',
      summary: 'Change the item “City weather”: name, price, endpoint, active and featured (to 0.50 USD)',
      detail: {
        account: { id: seller.id, name: null },
        item: { id: item.id, name: 'City weather' },
        new_price: '0.50 USD',
        change,
      },
    })
    // What it replaces is its owner's to see.
    expect(asked.text).not.toContain(`${ENDPOINT}"`)
    const { approval_id } = asked.body
    const path = `/v4/agent/approvals/${approval_id}`
    expect((await call('GET', path, agent)).body.detail).not.toHaveProperty('now')
    expect((await call('GET', path, { session })).body.detail.now).toEqual({
      name: 'City weather',
      price: '0.25 USD',
      dq: item.dq,
      external_endpoint: ENDPOINT,
      featured: false,
      active: true,
    })
    const early = await applyChange(call, agent, approval_id)
    expectProblem(early, 403, 'approval_not_given')
    await pressApproval(call, session, approval_id, { answer: 'approve' })
    const { status, body } = await applyChange(call, agent, approval_id)
    const { external_endpoint: _, ...shown } = fields
    expect([status, body]).toEqual([
      200,
      {
        approval_id,
        change,
        result: {
          item: expect.objectContaining({ id: item.id, ...shown }),
          commodity: expect.objectContaining({ hash: item.commodity_hash, cost: 0.5 }),
        },
      },
    ])
    expect(body.result.item).not.toHaveProperty('external_endpoint')
    expect(await itemsOf(call, business)).toMatchObject([{ id: item.id, ...fields }])
    expectProblem(await applyChange(call, agent, approval_id), 409, 'approval_spent')
  })

  it('restores an item, which comes back inactive, and archives it again', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller } = business
    const item = await newItem(call, seller)
    const archive = { kind: 'update_item', catalog_item_id: item.id, archived: true, name: 'Old weather' }
    const { body } = await applyChange(call, agent, await approvedChange(call, business, archive))
    expect(body.result.item).toMatchObject({ archived: true, active: false, name: 'Old weather' })
    const restore = { ...archive, archived: false, name: 'New weather' }
    const restored = await applyChange(call, agent, await approvedChange(call, business, restore))
    expect(restored.body.result.item).toMatchObject({ archived: false, active: false, name: 'New weather' })
  })

  it('creates an item with its own twin', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, hostname } = business
    const approval_id = await approvedChange(call, business, { ...NEW_ITEM, private: true })
    const { status, body } = await applyChange(call, agent, approval_id)
    expect(status).toBe(200)
    const { item, commodity } = body.result
    expect(item).toMatchObject({ name: WEATHER.name, price: 0.25, private: true, active: true })
    expect(item.hostname).not.toBe(hostname)
    expect(commodity).toEqual(expect.objectContaining({ hash: item.commodity_hash, hostname: item.hostname }))
    expect(await twinsOf(call, business)).toHaveLength(2)
    expect(await itemsOf(call, business)).toMatchObject([{ id: item.id, external_endpoint: ENDPOINT }])
    expectProblem(await applyChange(call, agent, approval_id), 409, 'approval_spent')
  })

  it('names a twin, whose four fields stay the same', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, hostname } = business
    const change = { kind: 'rename_wallet', hostname, name: 'Shop' }
    const { body } = await applyChange(call, agent, await approvedChange(call, business, change))
    const [twin] = await twinsOf(call, business)
    expect(body.result).toEqual({ twin: { ...twin, key: null }, name: 'Shop' })
    expect(Object.keys(twin).sort()).toEqual(['balances', 'hostname', 'id', 'key'])
    const { events } = (await call('GET', '/v4/events?type=twin.renamed', seller)).body
    expect(events).toMatchObject([{ data: { hostname, name: 'Shop' } }])
  })

  it('changes the account and its billing profile', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller } = business
    const fields = {
      name: 'Weather',
      businessName: 'Weather House',
      business_address: '1 Main Street\nOslo',
      billing_email: 'bills@example.test',
      tax_number: 'NO 123',
    }
    const approval_id = await approvedChange(call, business, { kind: 'update_account', ...fields })
    const { body } = await applyChange(call, agent, approval_id)
    expect(body.result).toEqual({ account: { id: seller.id, ...fields } })
    const { name, businessName, ...profile } = fields
    expect((await call('GET', '/v4/billing/profile', seller)).body).toEqual({ business_name: businessName, ...profile })
    expect((await call('GET', '/v4/account', seller)).body).toMatchObject({ name, businessName })
  })

  it('takes each name that PUT /v4/account takes, and clears it', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller } = business
    const names = Object.keys(routes.updateAccount.body?.shape ?? {})
    expect(names.length).toBeGreaterThan(1)
    for (const name of names)
      for (const value of ['Weather', null]) {
        const change = { kind: 'update_account', [name]: value }
        const { body } = await applyChange(call, agent, await approvedChange(call, business, change))
        expect(body.result).toEqual({ account: { id: seller.id, [name]: value } })
        expect((await call('GET', '/v4/account', seller)).body).toMatchObject({ [name]: value })
      }
  })

  it("is in the account's log with the app as actor", async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, email, hostname } = business
    const item = await newItem(call, seller)
    const update = { kind: 'update_item', catalog_item_id: item.id }
    for (const change of [
      { kind: 'update_account', name: 'Weather', tax_number: 'NO 123' },
      { ...update, price: 1 },
      { ...update, archived: true },
      { kind: 'rename_wallet', hostname, name: 'Shop' },
      NEW_ITEM,
    ])
      expect((await applyChange(call, agent, await approvedChange(call, business, change))).status).toBe(200)
    const session = await newSession(call, email)
    const [{ client_id }] = (await call('GET', '/v4/connections', { session })).body.connections
    const { events } = (await call('GET', '/v4/events?limit=6', seller)).body
    expect(events.map(({ type, actor }: { type: string; actor: string }) => [type, actor])).toEqual(
      [
        'catalog.created',
        'twin.renamed',
        'catalog.archived',
        'catalog.updated',
        'billing.profile_updated',
        'account.updated',
      ].map((type) => [type, client_id]),
    )
  })

  it('shows the agent only the fields of the account that its change named', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller } = business
    const profile = { tax_number: 'NO 123', billing_email: 'bills@example.test', business_address: '1 Main Street' }
    await call('PUT', '/v4/billing/profile', { ...seller, body: profile })
    const rename = { kind: 'update_account', name: 'Weather' }
    const { body } = await applyChange(call, agent, await approvedChange(call, business, rename))
    expect(body.result).toEqual({ account: { id: seller.id, name: 'Weather' } })
  })

  it('refuses an approved change that is no longer possible, and leaves the approval unspent: 400', {
    tags: 'everywhere',
  }, async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, session } = business
    const item = await newItem(call, seller)
    const rename = { kind: 'update_item', catalog_item_id: item.id, name: 'City rain' }
    const price = { kind: 'update_item', catalog_item_id: item.id, price: 1 }
    const [first, second] = [await approvedChange(call, business, rename), await approvedChange(call, business, price)]
    await call('POST', `/v4/catalog/items/${item.id}/archive`, seller)
    const refused = await applyChange(call, agent, first)
    expectProblem(refused, 400, 'change_impossible')
    expect(refused.body).toMatchObject({ reason: 'item_archived' })
    expect(refused.body).not.toHaveProperty('changed')
    await call('POST', `/v4/catalog/items/${item.id}/restore`, seller)
    await changeItem(call, seller, item, { price: 2 })
    // What else was changed meanwhile is not in its way.
    expect((await applyChange(call, agent, first)).status).toBe(200)
    expectProblem(await applyChange(call, agent, second), 400, 'change_impossible')
    const { body } = await call('GET', `/v4/agent/approvals/${second}`, { session })
    expect(body).toMatchObject({ status: 'approved', spent_at: null })
    expect(await itemsOf(call, business)).toMatchObject([{ name: 'City rain', price: 2 }])
  })

  it('works only for the same agent and the account that it was granted', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, email, session } = business
    const other = await newOwnAccount(call, 'eve@example.test')
    const change = { kind: 'update_account', name: 'Weather' }
    const approval_id = await approvedChange(call, business, change)
    const another = await newAgent(call, { session, account: String(seller.id) })
    expectProblem(await applyChange(call, { token: another.accessToken }, approval_id), 404, 'not_found')
    expectProblem(await applyChange(call, agent, 'apr_none'), 404, 'not_found')
    const ungranted = { token: (await newAgent(call, { email })).accessToken }
    expectProblem(await requestChange(call, ungranted, change), 403, 'account_not_granted')
    expectProblem(await applyChange(call, ungranted, approval_id), 403, 'account_not_granted')
    expectProblem(await applyChange(call, { token: seller.token }, approval_id), 401, 'agent_token_required')
    const transfer = { kind: 'transfer', address: other.hostname, amount: 1 }
    const { body } = await call('POST', '/v4/agent/approvals', { ...agent, body: transfer })
    expectProblem(await applyChange(call, agent, body.approval_id), 409, 'approval_mismatch')
  })

  it('is answered again with its Idempotency-Key, whether it took one transaction or several', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const keyed = { ...business.agent, headers: { 'idempotency-key': 'once' } }
    for (const change of [NEW_ITEM, { kind: 'update_account', name: 'Weather' }]) {
      const approval_id = await approvedChange(call, business, change)
      const headers = { 'idempotency-key': change.kind }
      const made = await applyChange(call, { ...business.agent, headers }, approval_id)
      expect(made.status).toBe(200)
      const again = await applyChange(call, { ...business.agent, headers }, approval_id)
      expect([again.status, again.body, again.headers.get('idempotent-replayed')]).toEqual([200, made.body, 'true'])
      expectProblem(await applyChange(call, business.agent, approval_id), 409, 'approval_spent')
    }
    expect(await itemsOf(call, business)).toHaveLength(1)
    const waiting = (await requestChange(call, business.agent, NEW_ITEM)).body.approval_id
    expectProblem(await applyChange(call, keyed, waiting), 403, 'approval_not_given')
    await pressApproval(call, business.session, waiting, { answer: 'approve' })
    expect((await applyChange(call, keyed, waiting)).status).toBe(200)
    expectProblem(await applyChange(call, keyed, 'apr_none'), 422, 'idempotency_mismatch')
  })

  it('happens once for several calls at once with one Idempotency-Key: 409 idempotency_in_progress', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const approval_id = await approvedChange(call, business, NEW_ITEM)
    const keyed = { ...business.agent, headers: { 'idempotency-key': 'once' } }
    const answers = await Promise.all(Array.from({ length: 8 }, () => applyChange(call, keyed, approval_id)))
    for (const answer of answers) if (answer.status !== 200) expectProblem(answer, 409, 'idempotency_in_progress')
    expect((await applyChange(call, keyed, approval_id)).status).toBe(200)
    expect(await itemsOf(call, business)).toHaveLength(1)
  })

  it('happens once for twenty calls at once', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const approval_id = await approvedChange(call, business, NEW_ITEM)
    const asked = Array.from({ length: 20 }, () => applyChange(call, business.agent, approval_id))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, ...Array(19).fill(409)])
    expect([await itemsOf(call, business), await twinsOf(call, business)].map(({ length }) => length)).toEqual([1, 2])
  })
})

contract('the approval of an account change', (start) => {
  it('covers only changes that an agent may propose', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller, hostname } = business
    const item = await newItem(call, seller)
    const refuse = async (change: object, field: string) => {
      const { status, body } = await requestChange(call, agent, change)
      expect([status, body.code, body.field]).toEqual([400, 'field_invalid', field])
    }
    const update = { kind: 'update_item', catalog_item_id: item.id }
    await refuse({ kind: 'change_plan', plan: 'scale' }, 'change.kind')
    await refuse({ kind: 'toString' }, 'change.kind')
    await refuse({ kind: 'update_account', plan: 'scale' }, 'change.plan')
    await refuse({ kind: 'update_account' }, 'change')
    await refuse({ ...update, twin_id: 1 }, 'change.twin_id')
    await refuse(update, 'change')
    await refuse({ ...update, name: 'x'.repeat(65) }, 'change.name')
    await refuse({ ...update, archived: false, active: true }, 'change.active')
    await refuse({ kind: 'create_item', name: 'Rain' }, 'change.description')
    await refuse({ kind: 'rename_wallet', hostname, name: 'a\u202eb' }, 'change.name')
    await refuse({ kind: 'update_account', billing_email: 'nobody' }, 'change.billing_email')
    expectProblem(
      await call('POST', '/v4/agent/approvals', { ...agent, body: { kind: 'account_change' } }),
      400,
      'field_invalid',
    )
    expect((await call('GET', '/v4/approvals', business)).body.approvals).toEqual([])
  })

  it('is refused like the direct change', async () => {
    const { call, made: business } = await startWith(start, newBusiness)
    const { agent, seller } = business
    const item = await newItem(call, seller)
    const refuse = async (change: object, ...expected: [number, Parameters<typeof expectProblem>[2]]) =>
      expectProblem(await requestChange(call, agent, change), ...expected)
    const update = { kind: 'update_item', catalog_item_id: item.id }
    await refuse({ ...update, catalog_item_id: 999, active: false }, 404, 'not_found')
    await refuse({ ...update, price: 0.0001 }, 400, 'amount_invalid')
    await refuse({ ...update, external_endpoint: 'ftp://api.example.test/' }, 422, 'upstream_refused')
    await refuse({ ...update, archived: false }, 409, 'item_not_archived')
    const { hostname } = await newOwnAccount(call, 'eve@example.test')
    await refuse({ kind: 'rename_wallet', hostname, name: 'Mine' }, 403, 'not_owner')
    await refuse({ ...NEW_ITEM, dq: 'none' }, 400, 'dq_unknown')
    await refuse({ kind: 'update_account', name: 'Card 4242 4242 4242 4242' }, 400, 'card_data_refused')
    await call('POST', `/v4/catalog/items/${item.id}/archive`, seller)
    await refuse({ ...update, name: 'Rain' }, 409, 'item_archived')
    for (let n = 0; n < 25; n++) await newItem(call, seller)
    await refuse(NEW_ITEM, 403, 'plan_limit_reached')
    expect((await requestChange(call, agent, { ...NEW_ITEM, active: false })).status).toBe(201)
  })
})

test('a change that breaks off midway keeps its finished steps, and says so: changed', async () => {
  const running = startFailing()
  const call = caller(running)
  const business = await newBusiness(call)
  const approval_id = await approvedChange(call, business, NEW_ITEM)
  const { write } = running.storage
  let writes = 0
  running.storage.write = <T>(body: (tx: Writer) => Promise<T>) =>
    ++writes === 2 ? Promise.reject(new Error('the disk is full')) : (write.call(running.storage, body) as Promise<T>)
  const refused = await applyChange(call, business.agent, approval_id)
  expectProblem(refused, 500, 'change_incomplete')
  const [made] = await twinsOf(call, business)
  expect(refused.body).toMatchObject({ changed: true, made: { hostname: made.hostname } })
  expectProblem(await applyChange(call, business.agent, approval_id), 409, 'approval_spent')
  expect([(await twinsOf(call, business)).length, await itemsOf(call, business)]).toEqual([2, []])
  await running.service.close()
})
