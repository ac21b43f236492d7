import { describe, expect, it, onTestFinished } from 'vitest'
import { createService } from '../../src/index.js'
import { caller } from '../support/api.js'
import { newItem } from '../support/scenes/catalog.js'
import { expectSoundLedger } from '../support/scenes/market.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { balanceOf, newPayer, newSeller } from '../support/scenes/world.js'

const upstream = useUpstream()
const OSLO = { city: 'Oslo' }

/** A service with an item that is sold, and a user whose agents have 10 to spend. */
async function market() {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok` })
  const payer = await newPayer(call, seller)
  const order = { catalog_item_id: item.id, arguments: OSLO }
  const { sandbox } = service
  const fundAgents = async () => {
    const { twins } = (await call('GET', '/v4/twins', payer)).body
    await sandbox.fund({ hostname: twins[0].hostname, amount: 10 })
    return () => balanceOf(call, payer.token, twins[0].hostname)
  }
  return { service, sandbox, call, seller, item, payer, order, fundAgents }
}

describe.each(['2026-07-28', '2025-11-25'] as const)('a scripted agent (%s)', (protocol) => {
  it('connects through discovery, registration and consent, and buys what its user approves, once', async () => {
    const { sandbox, call, payer, order, fundAgents } = await market()
    const agent = await sandbox.agent({ email: payer.email, protocol })
    const left = await fundAgents()
    const { tools } = await agent.client.listTools()
    expect(tools.map(({ name }) => name)).toContain('agent_checkout')
    const refused = await agent.buy(order)
    expect(refused).toMatchObject({ isError: true, code: 'approval_required', approval: { kind: 'purchase' } })
    const asking = agent.request(order)
    const { approval_id } = await sandbox.approvals.next().approve()
    expect((await asking).approval_id).toBe(approval_id)
    const bought = await agent.buy(order, approval_id)
    expect(bought).toMatchObject({ isError: false, status: 'paid', amount: 0.25 })
    expect(await agent.buy(order, approval_id)).toMatchObject({ isError: true, code: 'approval_spent' })
    expect([await left(), upstream.requests.length]).toEqual([9.75, 1])
    await expectSoundLedger(call)
    await agent.close()
  })
})

describe('a scripted agent', () => {
  it('has its request handed out again after either way of restoring the state', async () => {
    const { sandbox, call, payer, order } = await market()
    const agent = await sandbox.agent({ email: payer.email })
    const { approval_id } = await agent.request(order)
    const before = await sandbox.snapshot()
    await sandbox.approvals.next().approve()
    await sandbox.restore(before)
    expect(await sandbox.approvals.next().approve()).toMatchObject({ approval_id, status: 'approved' })
    expect((await call('PUT', '/_sandbox/snapshot', { body: before })).status).toBe(204)
    expect((await sandbox.approvals.next().approve()).approval_id).toBe(approval_id)
    await agent.close()
  })

  it('is asked in place if it supports that', async () => {
    const { sandbox, payer, order, fundAgents } = await market()
    const agent = await sandbox.agent({ email: payer.email, inPlace: 'approve' })
    const left = await fundAgents()
    expect(await agent.buy(order)).toMatchObject({ isError: false, status: 'paid' })
    expect([await left(), upstream.requests.length]).toEqual([9.75, 1])
    await agent.close()
    const refused = await sandbox.agent({ email: payer.email, inPlace: 'reject' })
    expect(await refused.buy(order)).toMatchObject({ isError: true, code: 'approval_not_given' })
    expect([await left(), upstream.requests.length]).toEqual([9.75, 1])
    await refused.close()
  })

  it("gets only its connection approved by the user's phone, and no other waiting request", async () => {
    const { sandbox, call, payer } = await market()
    await sandbox.phone(payer.id).answer('manual')
    const body = { action: 'transfer', detail: { amount: 5 } }
    const { id } = (await call('POST', '/v4/authentication-requests', { token: payer.token, body })).body
    const agent = await sandbox.agent({ email: payer.email })
    expect(await agent.call('agent_wallet_info')).toMatchObject({ isError: false })
    const other = (await call('GET', `/v4/authentication-requests/${id}`, { token: payer.token })).body
    expect(other.status).toBe('pending')
    await agent.close()
  })

  it("is accepted or rejected as the user's phone is set", async () => {
    const { sandbox, payer } = await market()
    const { email } = payer
    const phone = sandbox.phone(payer.id)
    await phone.answer('approve')
    await (await sandbox.agent({ email })).close()
    await phone.answer('reject')
    await expect(sandbox.agent({ email, name: 'Errands' })).rejects.toThrow(
      `${email} rejected the connection of Errands on their phone.`,
    )
    await phone.answer('ignore')
    await expect(sandbox.agent({ email })).rejects.toThrow(`The phone of ${email} is set to ignore requests`)
  })

  it('has an access token that the HTTP interface accepts too', async () => {
    const { sandbox, call, payer, seller } = await market()
    for (const server of [undefined, seller.id]) {
      const agent = await sandbox.agent({ email: payer.email, server })
      expect((await call('GET', '/v4/agent/account', { token: agent.accessToken })).status).toBe(200)
      // It asked for all that the metadata names, not for what one call needs.
      const claims = await call('GET', '/v4/oidc/me', { token: agent.accessToken })
      expect(claims.body).toMatchObject({ email: payer.email })
      await agent.close()
    }
  })

  it.each(['2026-07-28', '2025-11-25'] as const)(
    '(%s) continues after its token expires, even with many calls at once',
    async (protocol) => {
      const { sandbox, payer } = await market()
      const agent = await sandbox.agent({ email: payer.email, protocol })
      for (let turn = 0; turn < 2; turn++) {
        await sandbox.advance('2h')
        const all = await Promise.all([1, 2, 3, 4].map(() => agent.call('agent_wallet_info')))
        expect(all.map(({ isError }) => isError)).toEqual([false, false, false, false])
      }
      await agent.close()
    },
  )

  it('connects any number of times, even many at once', async () => {
    const { sandbox } = await market()
    const email = 'ada@example.test'
    for (let n = 0; n < 7; n++) await (await sandbox.agent({ email })).close()
    const others = ['ada@example.test', 'Ada@example.test', 'bob@example.test', 'bob@example.test', 'bob@example.test']
    const agents = await Promise.all(others.map((each) => sandbox.agent({ email: each })))
    for (const agent of agents) await agent.close()
  })

  it('connects again after the state is restored', async () => {
    const { sandbox } = await market()
    const before = await sandbox.snapshot()
    for (let turn = 0; turn < 2; turn++) {
      await (await sandbox.agent({ email: 'ada@example.test' })).close()
      await sandbox.restore(before)
    }
  })

  it('alters, duplicates and replays without gain: each approval buys once', async () => {
    const { sandbox, call, payer, order, fundAgents } = await market()
    const agent = await sandbox.agent({ email: payer.email })
    const left = await fundAgents()
    expect(await agent.hostile.alter(order, { city: 'Bergen' })).toMatchObject([{ code: 'approval_mismatch' }])
    const many = await agent.hostile.duplicate(order)
    expect(many.filter(({ isError }) => !isError)).toHaveLength(1)
    expect(many.filter(({ code }) => code === 'approval_spent')).toHaveLength(19)
    expect(await agent.hostile.replay(order)).toMatchObject([{ status: 'paid' }, { code: 'approval_spent' }])
    expect([await left(), upstream.requests.length]).toEqual([9.5, 2])
    await expectSoundLedger(call)
    await agent.close()
  })

  it('connects and buys when operations must be observed', async () => {
    const service = createService({ sandbox: true, evidence: 'observed' })
    onTestFinished(() => service.close())
    const { sandbox } = service
    const call = caller({ url: service.baseUrl, fetch: service.fetch, evidence: 'observed' })
    const { token } = await newSeller(call)
    const tool = { name: 'weather', description: 'The weather.', price_per_call: 0.25 }
    const { status } = await call('POST', '/v4/mcp/tools', {
      token,
      body: { ...tool, service_url: `${upstream.url}/ok` },
    })
    expect(status).toBe(201)
    const agent = await sandbox.agent({ email: 'ada@example.test' })
    const { items } = (await agent.call('catalog_search', { query: '' })) as unknown as { items: { id: number }[] }
    const order = { catalog_item_id: items[0]?.id as number, arguments: {} }
    const { hostname } = await agent.call('agent_wallet_info')
    await sandbox.fund({ hostname: hostname as string, amount: 10 })
    const { approval_id } = await agent.request(order)
    await sandbox.approve(approval_id)
    expect(await agent.buy(order, approval_id)).toMatchObject({ isError: false, status: 'paid' })
    await agent.close()
  })

  it('reads hostile items as data', async () => {
    const { sandbox, call, seller, payer } = await market()
    for (const { item } of sandbox.hostileItems)
      await newItem(call, seller, { ...item, external_endpoint: `${upstream.url}/ok` })
    const agent = await sandbox.agent({ email: payer.email })
    const found = await agent.call('catalog_search', { query: '' })
    expect(found.items).toHaveLength(sandbox.hostileItems.length + 1)
    expect(JSON.stringify(found)).not.toMatch(/[\u200b\u202e]/)
    expect((await agent.client.getInstructions()) ?? '').not.toContain('Ignore all previous')
    await agent.close()
  })

  it('fails with a clear message when no agent asks, or the user cannot connect it', async () => {
    const { sandbox } = await market()
    await expect(sandbox.approvals.next({ seconds: 0.05 })).rejects.toThrow(
      'No agent requested an approval within 0.05',
    )
    await expect(sandbox.agent({ email: 'no email' })).rejects.toThrow('answered 400: Enter an email address')
    const email = 'ada@example.test'
    await expect(sandbox.agent({ email, account: 999 })).rejects.toThrow(
      'ada@example.test cannot grant the account 999: the page offers none.',
    )
    await expect(sandbox.agent({ email, server: 999 })).rejects.toThrow('/mcp/999 answered 404: Not found.')
  })
})
