import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import {
  anotherAgent,
  answerApproval,
  approvalEvents,
  approved,
  heldBy,
  newAgentShop,
  requestApproval,
} from '../../support/scenes/approvals.js'
import { changeItem, purchase } from '../../support/scenes/catalog.js'
import { advance, expectProblem, expectSoundLedger, readPages } from '../../support/scenes/market.js'
import { answerLink, mailedLink } from '../../support/scenes/second-factor.js'
import { again, lastMail } from '../../support/scenes/transfers.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newPayer, newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()
const sold = () => ({ external_endpoint: `${upstream.url}/ok` })
const OSLO = { arguments: { city: 'Oslo', hours: 3 } }

contract('createApproval', (start) => {
  it('POST /v4/agent/approvals creates an approval for exactly one purchase', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, at, agent, payer, item, wallet } = shop
    const refused = await purchase(call, agent, item, OSLO)
    expectProblem(refused, 403, 'approval_required')
    const asked = await requestApproval(call, agent, refused.body.approval)
    const approval = {
      approval_id: expect.stringMatching(/^apr_[0-9a-f]{32}$/),
      kind: 'purchase',
      status: 'pending',
      detail: {
        catalog_item_id: item.id,
        name: 'City weather',
        seller: item.hostname,
        payee: item.hostname,
        price: '0.25 USD',
        amount: 0.25,
        dq: item.dq,
        ...OSLO,
      },
      summary: `Buy “City weather” from “${item.hostname}” for 0.25 USD`,
      url: expect.stringMatching(/\/approvals\/apr_[0-9a-f]{32}$/),
      expires_at: at / 1000 + 900,
      created_at: at / 1000,
      spent_at: null,
    }
    expect([asked.status, asked.body]).toEqual([201, approval])
    const { approval_id } = asked.body
    const early = await purchase(call, agent, item, { ...OSLO, approval_id })
    expectProblem(early, 403, 'approval_not_given')
    expect(early.body).toMatchObject({ approval_id, approval_status: 'pending', url: asked.body.url })
    const answered = await answerApproval(call, payer, approval_id)
    const given = { ...approval, status: 'approved', expires_at: at / 1000 + 3600 }
    expect([answered.status, answered.body]).toEqual([200, given])
    // The same arguments in another order are the same.
    const turned = { arguments: { hours: 3, city: 'Oslo' }, approval_id }
    expect((await purchase(call, agent, item, turned)).status).toBe(201)
    expectProblem(await purchase(call, agent, item, { ...OSLO, approval_id }), 409, 'approval_spent')
    expect([await heldBy(call, shop), upstream.requests.length]).toEqual([[9.75, 10], 1])
    const { body } = await call('GET', `/v4/agent/approvals/${approval_id}`, agent)
    expect(body).toEqual({ ...given, status: 'spent', spent_at: at / 1000 })
    expect((await call('GET', `/v4/agent/approvals/${approval_id}`, payer)).body).toEqual(body)
    expect(await approvalEvents(call, payer)).toEqual(['requested', 'approved', 'spent'])
    expectProblem(await purchase(call, agent, item, { ...OSLO, hostname: payer.hostname }), 403, 'approval_required')
    const other = { ...OSLO, approval_id: await approved(call, shop, refused.body.approval), hostname: payer.hostname }
    expectProblem(await purchase(call, agent, item, other), 403, 'not_owner')
    expect((await purchase(call, agent, item, { ...other, hostname: wallet })).status).toBe(201)
    await expectSoundLedger(call)
  })

  it('returns the waiting approval to the same call, also with an Idempotency-Key', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const keyed = { ...agent, headers: { 'idempotency-key': 'once' } }
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const buy = () => purchase(call, keyed, item, { ...OSLO, approval_id })
    expectProblem(await buy(), 403, 'approval_not_given')
    await answerApproval(call, payer, approval_id)
    const bought = await buy()
    expect(bought.status).toBe(201)
    const replayed = await buy()
    expect([replayed.status, replayed.body]).toEqual([201, bought.body])
    expect([await heldBy(call, shop), upstream.requests.length]).toEqual([[9.75, 10], 1])
  })

  it('refuses what the call itself would refuse, and missing fields of the kind', async () => {
    const { call, agent, payer, seller, item } = await newAgentShop(start, sold())
    const refuse = async (wish: object, ...expected: [number, Parameters<typeof expectProblem>[2]]) =>
      expectProblem(await requestApproval(call, agent, wish), ...expected)
    await refuse({ kind: 'purchase' }, 400, 'field_invalid')
    await refuse({ kind: 'plan' }, 400, 'field_invalid')
    await refuse({ kind: 'purchase', catalog_item_id: 999 }, 404, 'not_found')
    await refuse({ kind: 'purchase', catalog_item_id: item.id }, 422, 'arguments_refused')
    await refuse({ kind: 'paywall', amount: 1 }, 400, 'destination_unknown')
    await refuse({ kind: 'paywall', amount: 1, destination: item.hostname, dq: 'none' }, 400, 'dq_unknown')
    await refuse({ kind: 'paywall', amount: 0, destination: item.hostname }, 400, 'amount_invalid')
    const credentials = { destination: item.hostname, serviceUrl: 'https://ada:pw@api.example.test/' }
    await refuse({ kind: 'paywall', amount: 1, ...credentials }, 422, 'upstream_refused')
    await refuse({ kind: 'transfer', address: payer.email, amount: 1 }, 422, 'same_twin')
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    await refuse({ kind: 'cart', cart_id: cart }, 422, 'cart_empty')
    await changeItem(call, seller, item, { price: 0 })
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: { catalog_item_id: item.id, ...OSLO } })
    expect((await call('POST', `/v4/carts/${cart}/pay`, agent)).status).toBe(200)
    await refuse({ kind: 'cart', cart_id: cart }, 409, 'cart_closed')
    await changeItem(call, seller, item, { active: false })
    await refuse({ kind: 'purchase', catalog_item_id: item.id, ...OSLO }, 409, 'item_inactive')
  })

  it('lets at most twenty wait at once: 429', async () => {
    const { call, agent, item } = await newAgentShop(start, sold())
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    for (let n = 0; n < 20; n++) await requestApproval(call, agent, wish)
    const refused = await requestApproval(call, agent, wish)
    expectProblem(refused, 429, 'too_many_pending')
    expect(refused.headers.get('retry-after')).toBe('900')
    await advance(call, '15m')
    expect((await requestApproval(call, agent, wish)).status).toBe(201)
  })
})

contract('an approval', (start) => {
  it('works only for the same arguments, price, item, kind, agent and user', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, seller, item } = shop
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const approval_id = await approved(call, shop, wish)
    const altered = { arguments: { ...OSLO.arguments, hours: 4 }, approval_id }
    expectProblem(await purchase(call, agent, item, altered), 409, 'approval_mismatch')
    await changeItem(call, seller, item, { price: 0.5 })
    expectProblem(await purchase(call, agent, item, { ...OSLO, approval_id }), 409, 'approval_mismatch')
    const transfer = { address: item.hostname, amount: 0.25, approval_id }
    expectProblem(await call('POST', '/v4/transfer', { ...agent, body: transfer }), 409, 'approval_mismatch')
    const paywall = { destination: item.hostname, amount: 0.25, approval_id }
    expectProblem(await call('POST', '/v4/paywall', { ...agent, body: paywall }), 409, 'approval_mismatch')
    const another = await anotherAgent(call, payer)
    expectProblem(await purchase(call, another, item, { ...OSLO, approval_id }), 404, 'not_found')
    expectProblem(await call('GET', `/v4/agent/approvals/${approval_id}`, another), 404, 'not_found')
    const stranger = await newPayer(call, seller)
    expectProblem(await call('GET', `/v4/agent/approvals/${approval_id}`, stranger), 404, 'not_found')
    expectProblem(await answerApproval(call, stranger, approval_id, 'reject'), 404, 'not_found')
    await changeItem(call, seller, item, { price: 0.25 })
    expect((await purchase(call, agent, item, { ...OSLO, approval_id })).status).toBe(201)
    expect([await heldBy(call, shop), upstream.requests.length]).toEqual([[9.75, 10], 1])
  })

  it('buys once for twenty calls at once', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, item } = shop
    const approval_id = await approved(call, shop, { kind: 'purchase', catalog_item_id: item.id, ...OSLO })
    const uses = Array.from({ length: 20 }, () => purchase(call, agent, item, { ...OSLO, approval_id }))
    const statuses = (await Promise.all(uses)).map(({ status }) => status)
    expect(statuses.sort()).toEqual([201, ...Array(19).fill(409)])
    expect([await heldBy(call, shop), upstream.requests.length]).toEqual([[9.75, 10], 1])
    await expectSoundLedger(call)
  })

  it('expires 15 minutes after the request, and an hour after the answer', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const given = await approved(call, shop, wish)
    const { approval_id: waiting } = (await requestApproval(call, agent, wish)).body
    await advance(call, '15m')
    expectProblem(await answerApproval(call, payer, waiting), 409, 'not_pending')
    expectProblem(await purchase(call, agent, item, { ...OSLO, approval_id: waiting }), 403, 'approval_not_given')
    await advance(call, '45m')
    // Tokens live no longer than that.
    const user = await again(call, payer)
    expect((await call('GET', `/v4/agent/approvals/${given}`, user)).body.status).toBe('expired')
    expect(await approvalEvents(call, user)).toEqual(['requested', 'approved', 'requested', 'expired', 'expired'])
    expect(await heldBy(call, { ...shop, payer: user })).toEqual([10, 10])
  })

  it('buys nothing after a rejection, and says so', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const asked = await requestApproval(call, agent, { kind: 'purchase', catalog_item_id: item.id, ...OSLO })
    const { approval_id } = asked.body
    expect((await answerApproval(call, payer, approval_id, 'reject')).body.status).toBe('rejected')
    const refused = await purchase(call, agent, item, { ...OSLO, approval_id })
    expectProblem(refused, 403, 'approval_not_given')
    expect(refused.body.approval_status).toBe('rejected')
    expectProblem(await answerApproval(call, payer, approval_id), 409, 'not_pending')
    expectProblem(await answerApproval(call, payer, approval_id, 'reject'), 409, 'not_pending')
    expect(await heldBy(call, shop)).toEqual([10, 10])
  })

  it("for a transfer sends from the user's primary twin", async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, wallet, item } = shop
    const order = { address: wallet, amount: 2, memo: 'For errands' }
    const refused = await call('POST', '/v4/transfer', { ...agent, body: order })
    expectProblem(refused, 403, 'approval_required')
    expect(refused.body.approval).toEqual({ kind: 'transfer', ...order, dq: item.dq })
    const approval_id = await approved(call, shop, refused.body.approval)
    const send = (body: object) => call('POST', '/v4/transfer', { ...agent, body: { ...order, ...body } })
    expectProblem(await send({ amount: 3, approval_id }), 409, 'approval_mismatch')
    expect((await send({ approval_id })).status).toBe(201)
    expectProblem(await send({ approval_id }), 409, 'approval_spent')
    expect(await heldBy(call, shop)).toEqual([12, 8])
    const { events } = (await call('GET', '/v4/events?type=transfer.completed', payer)).body
    expect(events).toMatchObject([{ actor: expect.stringMatching(/^[^:]+$/), data: { memo: 'For errands' } }])
    const asked = await requestApproval(call, agent, refused.body.approval)
    const notGiven = { ...order, approval_id: asked.body.approval_id }
    expectProblem(await call('POST', '/v4/transfer', { ...agent, body: notGiven }), 403, 'approval_not_given')
  })

  it('for a paywall call covers its service and parameters', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, item } = shop
    const order = {
      amount: 0.5,
      destination: item.hostname,
      serviceUrl: `${upstream.url}/ok`,
      serviceMethod: 'POST',
      additionalParams: { q: 'rain', n: [1, { a: 1, b: 2 }] },
    }
    const approval_id = await approved(call, shop, { kind: 'paywall', ...order })
    const ask = (body: object) => call('POST', '/v4/paywall', { ...agent, body: { ...order, approval_id, ...body } })
    expectProblem(await ask({ additionalParams: { q: 'sun' } }), 409, 'approval_mismatch')
    expectProblem(await ask({ serviceUrl: `${upstream.url}/text` }), 409, 'approval_mismatch')
    expect((await ask({ additionalParams: { n: [1, { b: 2, a: 1 }], q: 'rain' } })).status).toBe(200)
    expectProblem(await ask({}), 409, 'approval_spent')
    expect([await heldBy(call, shop), upstream.requests.length]).toEqual([[9.5, 10], 1])
    const { approval_id: waiting } = (await requestApproval(call, agent, { kind: 'paywall', ...order })).body
    expectProblem(await ask({ approval_id: waiting }), 403, 'approval_not_given')
  })

  it('for a cart covers its lines at their current prices', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, seller, item } = shop
    const cart = (await call('POST', '/v4/carts', agent)).body.id
    const line = { catalog_item_id: item.id, quantity: 2, ...OSLO }
    await call('POST', `/v4/carts/${cart}/items`, { ...agent, body: line })
    await changeItem(call, seller, item, { price: 0.5 })
    const wish = { kind: 'cart', cart_id: cart }
    const asked = await requestApproval(call, agent, wish)
    expect(asked.body).toMatchObject({
      summary: 'Pay for a cart of 2 purchases: 1.00 USD',
      detail: { cart_id: cart, total: '1.00 USD', lines: [{ line: 1, quantity: 2, amount: 0.5, ...OSLO }] },
    })
    const pay = (approval_id: string) => call('POST', `/v4/carts/${cart}/pay`, { ...agent, body: { approval_id } })
    expectProblem(await pay(asked.body.approval_id), 403, 'approval_not_given')
    const before = await approved(call, shop, wish)
    await changeItem(call, seller, item, { price: 0.75 })
    expectProblem(await pay(before), 409, 'approval_mismatch')
    const { body } = await pay(await approved(call, shop, wish))
    expect([body.status, await heldBy(call, shop)]).toEqual(['paid', [8.5, 10]])
    const again = (await call('POST', '/v4/carts', agent)).body.id
    await call('POST', `/v4/carts/${again}/items`, { ...agent, body: line })
    const used = { ...agent, body: { approval_id: before } }
    expectProblem(await call('POST', `/v4/carts/${again}/pay`, used), 409, 'approval_mismatch')
  })
})

contract('listApprovals', (start) => {
  it("GET /v4/approvals lists the user's approvals, newest first, and filters by status", async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, seller, item } = shop
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const spent = await approved(call, shop, wish)
    await purchase(call, agent, item, { ...OSLO, approval_id: spent })
    const waiting = (await requestApproval(call, agent, wish)).body.approval_id
    const pages = await readPages(call, '/v4/approvals', { plural: 'approvals', token: payer.token, limit: 1 })
    const ids = pages.map((page) => page.map(({ approval_id }) => approval_id))
    expect(ids).toEqual([[waiting], [spent]])
    const pending = await call('GET', '/v4/approvals?status=pending', payer)
    expect(pending.body).toEqual({ approvals: [expect.objectContaining({ approval_id: waiting })], next: null })
    expect((await call('GET', '/v4/approvals', await newPayer(call, seller))).body.approvals).toEqual([])
    expectProblem(await call('GET', '/v4/approvals?after=apr_0', payer), 400, 'cursor_invalid')
  })
})

contract('approveApproval', (start) => {
  it('from a session waits for the second factor, which shows the approved action', {
    tags: 'everywhere',
  }, async () => {
    const { call, agent, payer, item } = await newAgentShop(start, sold())
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id, summary } = (await requestApproval(call, agent, wish)).body
    const session = await newSession(call, payer.email)
    const answer = answerApproval(call, { session }, approval_id)
    await expect.poll(async () => (await lastMail(call, payer.email)).text).toContain(`Request: ${summary}`)
    await answerLink(call, await mailedLink(call, payer.email))
    expect((await answer).body.status).toBe('approved')
    expectProblem(await answerApproval(call, { session }, approval_id), 409, 'not_pending')
    const second = (await requestApproval(call, agent, wish)).body.approval_id
    expect((await answerApproval(call, { session }, second, 'reject')).body.status).toBe('rejected')
  })

  it('leaves the approval pending if the phone rejects or does not answer', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, agent, payer, item } = await newAgentShop(start, sold())
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const session = await newSession(call, payer.email)
    const phone = (mode: string) => call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode } })
    const askOthers = async () => {
      for (let n = 0; n < 5; n++)
        await call('POST', '/v4/authentication-requests', { ...payer, body: { action: 'transfer', detail: {} } })
    }
    await phone('manual')
    await askOthers()
    expectProblem(await answerApproval(call, { session }, approval_id), 429, 'too_many_pending')
    await call('POST', `/_sandbox/devices/${payer.id}/approve`)
    await phone('reject')
    expectProblem(await answerApproval(call, { session }, approval_id), 403, 'rejected')
    await phone('ignore')
    const answer = answerApproval(call, { session }, approval_id)
    await expect.poll(async () => (await call('GET', `/_sandbox/devices/${payer.id}`)).body.requests).toHaveLength(1)
    await advance(call, '2m')
    expectProblem(await answer, 408, 'approval_timeout')
    await askOthers()
    await advance(call, '2m')
    expectProblem(await answerApproval(call, { session }, approval_id), 429, 'too_many_mails')
    expect((await call('GET', `/v4/agent/approvals/${approval_id}`, agent)).body.status).toBe('pending')
    expect((await call('POST', `/_sandbox/approvals/${approval_id}/approve`)).body.status).toBe('approved')
    expectProblem(await call('POST', `/_sandbox/approvals/${approval_id}/reject`), 409, 'not_pending')
    expectProblem(await call('POST', `/_sandbox/approvals/${approval_id}/approve`), 409, 'not_pending')
    expectProblem(await call('POST', '/_sandbox/approvals/apr_0/approve'), 404, 'not_found')
    expectProblem(await call('POST', '/_sandbox/approvals/apr_0/reject'), 404, 'not_found')
    const other = (await requestApproval(call, agent, wish)).body.approval_id
    expect((await call('POST', `/_sandbox/approvals/${other}/reject`)).body.status).toBe('rejected')
    expectProblem(await answerApproval(call, payer, 'apr_0'), 404, 'not_found')
  })
})

contract('updateAgentSettings', (start) => {
  it('PUT /v4/agent/settings lets an agent pay up to a threshold from its twin without an approval', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, seller, item } = shop
    const put = (caller: object, thresholds: object) =>
      call('PUT', '/v4/agent/settings', { ...caller, body: { approval_threshold: thresholds } })
    expect((await call('GET', '/v4/agent/settings', payer)).body).toEqual({ approval_threshold: {} })
    const set = await put(payer, { [item.dq]: 0.25 })
    expect([set.status, set.body]).toEqual([200, { approval_threshold: { [item.dq]: 0.25 } }])
    expect((await purchase(call, agent, item, OSLO)).status).toBe(201)
    const paywall = { amount: 0.25, destination: item.hostname }
    expect((await call('POST', '/v4/paywall', { ...agent, body: paywall })).status).toBe(200)
    const more = { ...paywall, amount: 0.251 }
    expectProblem(await call('POST', '/v4/paywall', { ...agent, body: more }), 403, 'approval_required')
    await changeItem(call, seller, item, { price: 0.251 })
    expectProblem(await purchase(call, agent, item, OSLO), 403, 'approval_required')
    // What leaves the user's own wallet is asked for, whatever the amount.
    const transfer = { address: item.hostname, amount: 0.001 }
    expectProblem(await call('POST', '/v4/transfer', { ...agent, body: transfer }), 403, 'approval_required')
    expect(await heldBy(call, shop)).toEqual([9.5, 10])
    expectProblem(await put(payer, { none: 1 }), 400, 'dq_unknown')
    expectProblem(await put(payer, { [item.dq]: -1 }), 400, 'amount_invalid')
    expect((await put(payer, { [item.dq]: 0 })).body).toEqual({ approval_threshold: {} })
  })

  it('from a session waits for the second factor if it raises a threshold', { tags: 'everywhere' }, async () => {
    const { call, payer, item } = await newAgentShop(start, sold())
    const session = await newSession(call, payer.email)
    const put = (amount: number) =>
      call('PUT', '/v4/agent/settings', { session, body: { approval_threshold: { [item.dq]: amount } } })
    const phone = (mode: string) => call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode } })
    await phone('reject')
    expectProblem(await put(1), 403, 'rejected')
    await phone('approve')
    expect((await put(1)).body).toEqual({ approval_threshold: { [item.dq]: 1 } })
    await phone('ignore')
    expect((await put(0.5)).body).toEqual({ approval_threshold: { [item.dq]: 0.5 } })
    const answer = put(2)
    const waiting = async () => (await call('GET', `/_sandbox/devices/${payer.id}`)).body.requests
    await expect.poll(waiting).toMatchObject([{ detail: { without_approval: '2.00 USD' } }])
    await advance(call, '2m')
    expectProblem(await answer, 408, 'approval_timeout')
    await advance(call, '15m')
    for (let n = 0; n < 5; n++)
      await call('POST', '/v4/authentication-requests', { ...payer, body: { action: 'transfer', detail: {} } })
    expectProblem(await put(2), 429, 'too_many_pending')
    await advance(call, '2m')
    expectProblem(await put(2), 429, 'too_many_mails')
    expect((await call('GET', '/v4/agent/settings', { session })).body).toEqual({
      approval_threshold: { [item.dq]: 0.5 },
    })
  })
})
