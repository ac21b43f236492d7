import { expect, it } from 'vitest'
import type { Answer } from '../support/api.js'
import { contract } from '../support/contract.js'
import { expectProblem, stopClock } from '../support/market.js'
import { authorizeApp, exchangeCode, expectOAuthError, newAgent, newApp, startInteraction } from '../support/oidc.js'
import { newSession } from '../support/world.js'

contract('the connections of a user', (start) => {
  it('GET /v4/connections lists the apps that they connected, newest first, and no one else’s', async () => {
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
          ...{ id: expect.any(Number), client_id: second.app.id, client_name: 'Other', account_id: null, ...times },
          scope: 'openid profile email twin offline_access',
        },
        {
          ...{ id: expect.any(Number), client_id: first.app.id, client_name: 'Errand Runner', account_id: null },
          ...{ scope: 'openid', ...times },
        },
      ],
      next: null,
    })
    const page = (await call('GET', '/v4/connections?limit=1', { session: first.session })).body
    expect([page.connections.length, page.next]).toEqual([1, body.connections[0].id])
    expectProblem(await call('GET', '/v4/connections?after=999', { session: first.session }), 400, 'cursor_invalid')
  })

  it('DELETE /v4/connections/:id disconnects one: its tokens and codes are dead at once', async () => {
    const { call } = await start()
    const agent = await newAgent(call)
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

  it('stand in the log of the user: made, changed, misused, ended', async () => {
    const { call } = await start()
    const agent = await newAgent(call)
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
