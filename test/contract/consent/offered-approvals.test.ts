import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { pressApproval } from '../../support/scenes/account-changes.js'
import {
  anotherAgent,
  answerApproval,
  approvalEvents,
  heldBy,
  newAgentShop,
  requestApproval,
} from '../../support/scenes/approvals.js'
import { changeItem, purchase } from '../../support/scenes/catalog.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { signInAt } from '../../support/scenes/oidc.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newPayer, newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()
const sold = () => ({ external_endpoint: `${upstream.url}/ok` })
const OSLO = { arguments: { city: 'Oslo', hours: 3 } }
const order = (n: number) => ({ arguments: { city: 'Oslo', hours: n } })

contract('The refusal approval_required', (start) => {
  it('says where its user approves, and the repeated call pays once', { tags: 'everywhere' }, async () => {
    const shop = await newAgentShop(start, sold())
    const { call, url, agent, payer, item } = shop
    const headers = { 'idempotency-key': 'an order' }
    const refused = await purchase(call, { ...agent, headers } as never, item, OSLO)
    expectProblem(refused, 403, 'approval_required')
    const { approval_id } = refused.body
    expect(refused.body.url).toBe(`${url}/approvals/${approval_id}`)
    expect(refused.body.error).toContain(`${url}/approvals/${approval_id}`)
    expect((await purchase(call, agent, item, OSLO)).body).toMatchObject({ approval_id })
    const path = `/approvals/${approval_id}`
    const { session } = await signInAt(call, path, payer.email)
    expect((await call('GET', path, { session })).text).toContain('City weather')
    expect((await pressApproval(call, session, approval_id, { answer: 'approve' })).status).toBe(303)
    // Over HTTP, the agent says which approval it spends.
    expectProblem(await purchase(call, agent, item, OSLO), 403, 'approval_required')
    const paid = await purchase(call, { ...agent, headers } as never, item, { ...OSLO, approval_id })
    expect([paid.status, paid.body.status]).toEqual([201, 'paid'])
    expectProblem(await purchase(call, agent, item, { ...OSLO, approval_id }), 409, 'approval_spent')
    expect(await heldBy(call, shop)).toEqual([9.75, 10])
    expect(await approvalEvents(call, payer)).toEqual(['requested', 'approved', 'spent'])
  })

  it('is the same for a transfer, a paywall call and a cart', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, wallet, item } = shop
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: { catalog_item_id: item.id, ...OSLO } })
    for (const [path, body, status] of [
      ['/v4/transfer', { address: wallet, amount: 2 }, 201],
      ['/v4/paywall', { amount: 0.5, destination: item.hostname }, 200],
      [`/v4/carts/${cart}/pay`, {}, 200],
    ] as const) {
      const refused = await call('POST', path, { ...agent, body })
      expectProblem(refused, 403, 'approval_required')
      const { approval_id } = refused.body
      expect((await answerApproval(call, payer, approval_id)).body.url).toBe(refused.body.url)
      expect((await call('POST', path, { ...agent, body: { ...body, approval_id } })).status, path).toBe(status)
    }
  })

  it('offers nothing to others, and only its user can approve', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, seller, agent, payer, item } = shop
    const { approval_id } = (await purchase(call, agent, item, OSLO)).body
    const stranger = await newPayer(call, seller, { balance: 10 })
    const path = `/v4/agent/approvals/${approval_id}`
    const others = [await anotherAgent(call, payer), await anotherAgent(call, stranger)]
    for (const other of [...others, stranger, seller]) {
      const read = await call('GET', path, other)
      expect([other === seller ? 403 : 404, false]).toEqual([read.status, read.text.includes('Oslo')])
    }
    for (const other of others) {
      expectProblem(await purchase(call, other, item, { ...OSLO, approval_id }), 404, 'not_found')
      expect((await purchase(call, other, item, OSLO)).body.approval_id).not.toBe(approval_id)
    }
    expectProblem(await answerApproval(call, stranger, approval_id), 404, 'not_found')
    expectProblem(await answerApproval(call, agent, approval_id), 403, 'wrong_principal')
    // The address alone approves nothing, with or without a session.
    const session = await newSession(call, stranger.email)
    expectProblem(await pressApproval(call, session, approval_id, { answer: 'approve' }), 404, 'not_found')
    expectProblem(await pressApproval(call, undefined, approval_id, { answer: 'approve' }), 401, 'sign_in_required')
    expect((await call('GET', path, agent)).body.status).toBe('pending')
  })

  it('turns into a request when the agent asks for the same, so that its user is asked once', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const { approval, approval_id } = (await purchase(call, agent, item, OSLO)).body
    expect((await requestApproval(call, agent, approval)).body).toMatchObject({ approval_id, status: 'pending' })
    expect((await requestApproval(call, agent, approval)).body.approval_id).not.toBe(approval_id)
    expect(await approvalEvents(call, payer)).toEqual(['requested', 'requested'])
  })

  it('offers another approval when the price has changed', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, seller, item } = shop
    const { approval_id } = (await purchase(call, agent, item, OSLO)).body
    await answerApproval(call, payer, approval_id)
    await changeItem(call, seller, item, { price: 9 })
    expectProblem(await purchase(call, agent, item, { ...OSLO, approval_id }), 409, 'approval_mismatch')
    expect((await purchase(call, agent, item, OSLO)).body.approval_id).not.toBe(approval_id)
    expect(await heldBy(call, shop)).toEqual([10, 10])
  })

  it('is approval_not_given for what the user has just rejected', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const { approval, approval_id } = (await purchase(call, agent, item, OSLO)).body
    await answerApproval(call, payer, approval_id, 'reject')
    const refused = await purchase(call, agent, item, OSLO)
    expectProblem(refused, 403, 'approval_not_given')
    expect(refused.body).toMatchObject({ approval_id, approval_status: 'rejected' })
    expect((await requestApproval(call, agent, approval)).body.status).toBe('pending')
    await advance(call, '16m')
    expectProblem(await purchase(call, agent, item, OSLO), 403, 'approval_required')
  })

  it('offers ten approvals at once and not more, and leaves room for requests', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const offered: string[] = []
    for (let n = 1; n <= 12; n++) offered.push((await purchase(call, agent, item, order(n))).body.url)
    expect(offered.filter((url) => url !== undefined)).toHaveLength(10)
    const refused = await purchase(call, agent, item, order(11))
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body).not.toHaveProperty('approval_id')
    for (let n = 13; n <= 32; n++)
      expect((await requestApproval(call, agent, { ...refused.body.approval, ...order(n) })).status).toBe(201)
    expectProblem(await requestApproval(call, agent, refused.body.approval), 429, 'too_many_pending')
    const pending = await call('GET', '/v4/approvals?status=pending&limit=100', payer)
    expect(pending.body.approvals).toHaveLength(30)
  })

  it('is offered whatever the agent itself, other agents and answered offers make the user read', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    for (let n = 1; n <= 10; n++) {
      const { approval_id } = (await purchase(call, agent, item, order(n))).body
      expect(approval_id).toEqual(expect.any(String))
      // What is answered is read, and makes room for the next.
      if (n <= 5) await answerApproval(call, payer, approval_id, n <= 2 ? 'approve' : 'reject')
    }
    for (let n = 11; n <= 15; n++) expect((await purchase(call, agent, item, order(n))).body).toHaveProperty('url')
    expect((await purchase(call, agent, item, order(16))).body).not.toHaveProperty('url')
    const other = await anotherAgent(call, payer)
    const { approval } = (await purchase(call, other, item, order(1))).body
    for (let n = 21; n <= 40; n++) await requestApproval(call, other, { ...approval, ...order(n) })
    expectProblem(await requestApproval(call, other, { ...approval, ...order(41) }), 429, 'too_many_pending')
    expect((await purchase(call, other, item, order(42))).body).toHaveProperty('url')
  })
})
