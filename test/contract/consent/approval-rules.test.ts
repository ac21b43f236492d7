import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newBusiness, pressApproval, requestChange } from '../../support/scenes/account-changes.js'
import { answerApproval, newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { newItem, purchase } from '../../support/scenes/catalog.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { secondFactorEvents } from '../../support/scenes/second-factor.js'
import { newSession, type Payer } from '../../support/scenes/world.js'

const OSLO = { arguments: { city: 'Oslo', hours: 3 } }
const points = { name: 'Points', shortcode: 'PTS', shortdescription: 'Loyalty points, whole ones.', decimals: 0 }

/** Everything that the user's log says of approvals, oldest first. */
async function logOf(call: Call, { token }: Pick<Payer, 'token'>) {
  const { events } = (await call('GET', '/v4/events?limit=100', { token })).body
  return events.filter(({ type }: { type: string }) => type.startsWith('approval.')).reverse()
}

contract('an approval', (start) => {
  it("is in its user's log: who did what, and for which app", async () => {
    const { call, agent, payer, item } = await newAgentShop(start, { price: 0 })
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await requestApproval(call, agent, wish)).body.approval_id)
    const [given = '', refused = '', late = ''] = ids
    await answerApproval(call, payer, given)
    await answerApproval(call, payer, refused, 'reject')
    await advance(call, '15m')
    const { body } = await call('GET', '/v4/connections', payer)
    const [{ client_id }] = body.connections
    const user = `user:${payer.id}`
    const told = (await logOf(call, payer)).map((event: Record<string, unknown>) => [
      ...[event.type, event.actor, event.subject, event.data],
    ])
    const data = { kind: 'purchase', summary: expect.stringContaining('City weather'), client_id }
    expect(told).toEqual([
      ...ids.map((id) => ['approval.requested', client_id, `approval:${id}`, data]),
      ['approval.approved', user, `approval:${given}`, data],
      ['approval.rejected', user, `approval:${refused}`, data],
      ['approval.expired', 'service', `approval:${late}`, data],
    ])
  })

  it('says how long to wait when twenty wait, which is until the first of them expires', async () => {
    const { call, agent, item } = await newAgentShop(start)
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    await requestApproval(call, agent, wish)
    await advance(call, '5m')
    for (let n = 1; n < 20; n++) await requestApproval(call, agent, wish)
    const refused = await requestApproval(call, agent, wish)
    expectProblem(refused, 429, 'too_many_pending')
    expect(refused.headers.get('retry-after')).toBe('600')
    await advance(call, '10m')
    expect((await requestApproval(call, agent, wish)).status).toBe(201)
  })

  it('is not asked for in a session if the user saw another price, or it is answered already', async () => {
    const { call, agent, payer, item } = await newAgentShop(start)
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const session = await newSession(call, payer.email)
    const seen = { session, body: { price: 0.1, dq: item.dq } }
    expectProblem(await answerApproval(call, seen, approval_id), 409, 'price_changed')
    await answerApproval(call, payer, approval_id, 'reject')
    expectProblem(await answerApproval(call, { session }, approval_id), 409, 'not_pending')
    expectProblem(await answerApproval(call, { session }, 'apr_0'), 404, 'not_found')
    expect(await secondFactorEvents(call, payer.token)).toEqual([])
  })

  it('is spent once and for one thing, and a refusal names it; a rejection does not make it last longer', async () => {
    const { call, agent, payer, item } = await newAgentShop(start, { price: 0 })
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id, expires_at } = (await requestApproval(call, agent, wish)).body
    await answerApproval(call, payer, approval_id)
    const other = await purchase(call, agent, item, { arguments: { city: 'Bergen' }, approval_id })
    expectProblem(other, 409, 'approval_mismatch')
    expect(other.body.approval_id).toBe(approval_id)
    await purchase(call, agent, item, { ...OSLO, approval_id })
    const again = await purchase(call, agent, item, { ...OSLO, approval_id })
    expectProblem(again, 409, 'approval_spent')
    expect(again.body).toMatchObject({ approval_id, approval_status: 'spent' })
    const second = (await requestApproval(call, agent, wish)).body.approval_id
    const rejected = (await answerApproval(call, payer, second, 'reject')).body
    expect([rejected.status, rejected.expires_at]).toEqual(['rejected', expires_at])
  })

  it('that ends with its app has expired now, and not when it would have', async () => {
    const { call, at, agent, payer, item } = await newAgentShop(start)
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    await requestApproval(call, agent, wish)
    await advance(call, '1m')
    const { connections } = (await call('GET', '/v4/connections', payer)).body
    await call('DELETE', `/v4/connections/${connections[0].id}`, payer)
    const { approvals } = (await call('GET', '/v4/approvals', payer)).body
    expect(approvals).toMatchObject([{ status: 'expired', expires_at: at / 1000 + 60 }])
  })

  it('of a change shows what it replaces to the user, and not to the agent', async () => {
    const {
      call,
      made: { agent, seller, session },
    } = await startWith(start, newBusiness)
    const item = await newItem(call, seller)
    const { body } = await requestChange(call, agent, { kind: 'update_item', catalog_item_id: item.id, price: 0.5 })
    const path = `/v4/agent/approvals/${body.approval_id}`
    expect((await call('GET', path, agent)).body.detail).not.toHaveProperty('now')
    expect((await call('GET', path, { session })).body.detail.now).toMatchObject({ price: '0.25 USD' })
    const { approvals } = (await call('GET', '/v4/approvals', { session })).body
    expect(approvals[0].detail.now).toMatchObject({ price: '0.25 USD' })
  })

  it('takes the code of a sign-in for the second factor for less than five minutes', async () => {
    const { call, agent, payer, item } = await newAgentShop(start)
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const session = await newSession(call, payer.email)
    await advance(call, '299999ms')
    const pressed = await pressApproval(call, session, approval_id, { answer: 'approve' })
    expect(pressed.headers.get('location')).not.toContain('step=wait')
    expect((await call('GET', `/v4/agent/approvals/${approval_id}`, agent)).body.status).toBe('approved')
    expect(await secondFactorEvents(call, payer.token)).toEqual([])
  })
})

contract('the thresholds of a user', (start) => {
  it('count for each digital quantity alone, and keep what a change does not name', async () => {
    const { call, payer, item } = await newAgentShop((options) =>
      start({ ...options, seed: { digital_quantities: [points] } }),
    )
    const [, other] = (await call('GET', '/v4/dq')).body.digital_quantities
    const put = async (caller: object, thresholds: object) =>
      (await call('PUT', '/v4/agent/settings', { ...caller, body: { approval_threshold: thresholds } })).body
        .approval_threshold
    expect(await put(payer, { [item.dq]: 0.5 })).toEqual({ [item.dq]: 0.5 })
    expect(await put(payer, { [other]: 7 })).toEqual({ [item.dq]: 0.5, [other]: 7 })
    expect(await put(payer, { [item.dq]: 0 })).toEqual({ [other]: 7 })
    const told = (await logOf(call, payer)).map((event: Record<string, unknown>) => [
      ...[event.type, event.actor, event.subject, event.data],
    ])
    const user = `user:${payer.id}`
    expect(told.at(-1)).toEqual([...['approval.threshold_changed', user, user, { approval_threshold: { [other]: 7 } }]])
    // A session must ask if any of them goes up, and the question names them all.
    const session = await newSession(call, payer.email)
    await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode: 'approve' } })
    expect(await put({ session }, { [other]: 6, [item.dq]: 0.25 })).toEqual({ [item.dq]: 0.25, [other]: 6 })
    const [{ text }] = (await call('GET', '/_sandbox/outbox?kind=push')).body.messages
    expect(text).toBe('Without approval: 6 PTS, 0.25 USD')
    expect(await secondFactorEvents(call, payer.token)).toHaveLength(2)
    expect(await put({ session }, { [other]: 6, [item.dq]: 0.25 })).toEqual({ [item.dq]: 0.25, [other]: 6 })
    expect(await secondFactorEvents(call, payer.token)).toHaveLength(2)
  })

  it('stay as low as the last change, whatever a session changes at the same moment', async () => {
    const { call, payer, item } = await newAgentShop(start)
    const session = await newSession(call, payer.email)
    await call('POST', `/_sandbox/devices/${payer.id}`, { body: { mode: 'reject' } })
    const put = (caller: object, amount: number) =>
      call('PUT', '/v4/agent/settings', { ...caller, body: { approval_threshold: { [item.dq]: amount } } })
    for (let n = 0; n < 3; n++) {
      await put(payer, 1)
      await Promise.all([put({ session }, 0.5), put(payer, 0.1)])
      expect((await call('GET', '/v4/agent/settings', payer)).body.approval_threshold).toEqual({ [item.dq]: 0.1 })
    }
  })
})
