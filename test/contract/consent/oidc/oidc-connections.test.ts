import { expect, it, test } from 'vitest'
import type { Writer } from '../../../../src/storage/storage.js'
import { type Answer, caller } from '../../../support/api.js'
import { contract } from '../../../support/contract/contract.js'
import { startWith } from '../../../support/contract/prepared.js'
import {
  anotherAgent,
  answerApproval,
  approvalEvents,
  approved,
  heldBy,
  newAgentShop,
  requestApproval,
} from '../../../support/scenes/approvals.js'
import { purchase } from '../../../support/scenes/catalog.js'
import { advance, expectProblem, stopClock } from '../../../support/scenes/market.js'
import {
  authorizeApp,
  exchangeCode,
  expectOAuthError,
  newAgent,
  newApp,
  startInteraction,
} from '../../../support/scenes/oidc.js'
import { newSession } from '../../../support/scenes/world.js'
import { startFailing } from '../../../support/storage/failing-storage.js'

contract('the connections of a user', (start) => {
  it('GET /v4/connections lists only the apps that they connected, newest first', async () => {
    const { call } = await start()
    const at = (await stopClock(call)) / 1000
    const first = await newAgent(call, { scope: 'openid' })
    const second = await newAgent(call, { session: first.session, app: await newApp(call, { client_name: 'Other' }) })
    await newAgent(call, { email: 'eve@example.test' })
    const { status, body } = await call('GET', '/v4/connections', { session: first.session })
    expect(status).toBe(200)
    const times = { created_at: at, updated_at: at }
    expect(body).toEqual({
      connections: [
        {
          ...{
            id: expect.any(Number),
            client_id: second.app.id,
            client_name: 'Other',
            client_host: null,
            account_id: null,
            ...times,
          },
          scope: 'openid profile email twin offline_access',
        },
        {
          ...{
            id: expect.any(Number),
            client_id: first.app.id,
            client_name: 'Errand Runner',
            client_host: null,
            account_id: null,
          },
          ...{ scope: 'openid', ...times },
        },
      ],
      next: null,
    })
    const page = (await call('GET', '/v4/connections?limit=1', { session: first.session })).body
    expect([page.connections.length, page.next]).toEqual([1, body.connections[0].id])
    expectProblem(await call('GET', '/v4/connections?after=999', { session: first.session }), 400, 'cursor_invalid')
  })

  it('DELETE /v4/connections/:id disconnects one and ends its tokens and codes at once', async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    const other = await newAgent(call, { session: agent.session })
    const { code } = await authorizeApp(call, agent.app, { session: agent.session })
    const { connections } = (await call('GET', '/v4/connections', { session: agent.session })).body
    const { id } = connections.find(({ client_id }: { client_id: string }) => client_id === agent.app.id)
    const eve = await newSession(call, 'eve@example.test')
    expectProblem(await call('DELETE', `/v4/connections/${id}`, { session: eve }), 404, 'not_found')
    expect((await call('DELETE', `/v4/connections/${id}`, { session: agent.session })).status).toBe(204)
    expectProblem(await call('GET', '/v4/agent/account', { token: agent.accessToken }), 401, 'token_invalid')
    expectOAuthError(await exchangeCode(call, agent.app, code), 400, 'invalid_grant')
    expect((await call('GET', '/v4/agent/account', { token: other.accessToken })).status).toBe(200)
    expectProblem(await call('DELETE', `/v4/connections/${id}`, { session: agent.session }), 404, 'not_found')
    const again: Answer = await call('GET', await startInteraction(call, agent.app), { session: agent.session })
    expect(again.text).toContain('>Allow</button>')
  })

  it("end with their app's waiting approvals, because nobody can use them any more", async () => {
    const shop = await newAgentShop(start)
    const { call, agent, payer, item } = shop
    const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Oslo' } }
    const given = await approved(call, shop, wish)
    const { approval_id } = (await requestApproval(call, agent, wish)).body
    const others = (await requestApproval(call, await anotherAgent(call, payer), wish)).body.approval_id
    const { connections } = (await call('GET', '/v4/connections', payer)).body
    expect((await call('DELETE', `/v4/connections/${connections[1].id}`, payer)).status).toBe(204)
    const { approvals } = (await call('GET', '/v4/approvals', payer)).body
    expect(approvals.map((each: Record<string, unknown>) => [each.approval_id, each.status])).toEqual([
      [others, 'pending'],
      [approval_id, 'expired'],
      [given, 'expired'],
    ])
    expectProblem(await answerApproval(call, payer, approval_id), 409, 'not_pending')
    expect((await approvalEvents(call, payer)).slice(-2)).toEqual(['expired', 'expired'])
    await advance(call, '15m')
    expect((await approvalEvents(call, payer)).filter((type) => type === 'expired')).toHaveLength(3)
  })

  it("are in the user's log: created, changed, misused, ended", async () => {
    const { call, made: agent } = await startWith(start, newAgent)
    await authorizeApp(call, agent.app, { session: agent.session, prompt: 'consent' })
    await exchangeCode(call, agent.app, agent.code)
    const { connections } = (await call('GET', '/v4/connections', { session: agent.session })).body
    const [{ id }] = connections
    await call('DELETE', `/v4/connections/${id}`, { session: agent.session })
    const { events } = (await call('GET', '/v4/events?limit=100', { session: agent.session })).body
    const told = events.filter(({ subject }: { subject: string | null }) => subject === `connection:${id}`)
    expect(told.map(({ type }: { type: string }) => type)).toEqual([
      ...['connection.deleted', 'token.reused', 'connection.updated', 'connection.created'],
    ])
    for (const { data } of told) expect(data.client_id).toBe(agent.app.id)
  })
})

test('an app that is disconnected between its authentication and its payment pays nothing, not even within a threshold', async () => {
  const { storage, service, ...running } = startFailing()
  const { close } = service
  const started = { ...running, call: caller(running), state: () => storage.export(), close }
  const shop = await newAgentShop(async () => started)
  const { call, agent, payer, item } = shop
  await call('PUT', '/v4/agent/settings', { ...payer, body: { approval_threshold: { [item.dq]: 1 } } })
  const [{ id }] = (await call('GET', '/v4/connections', payer)).body.connections
  const { write } = storage
  storage.write = async <T>(body: (tx: Writer) => Promise<T>) => {
    storage.write = write
    await call('DELETE', `/v4/connections/${id}`, payer)
    return write.call(storage, body) as Promise<T>
  }
  expectProblem(await purchase(call, agent, item, { arguments: { city: 'Oslo' } }), 401, 'token_invalid')
  expect(await heldBy(call, shop)).toEqual([10, 10])
  await close()
})
