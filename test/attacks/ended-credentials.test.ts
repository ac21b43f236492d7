import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service } from '../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { ACCEPT, modern, send } from '../support/mcp/mcp.js'
import { newMcpShop } from '../support/mcp/mcp-shop.js'
import { answerApproval, heldBy } from '../support/scenes/approvals.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { newAgent, newApp } from '../support/scenes/oidc.js'
import { askedAuthorization, newMarket, newPage, paywall, settledBalances } from '../support/scenes/paywall.js'
import { registerDevice } from '../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession, type Payer } from '../support/scenes/world.js'

/**
 * What someone tries whose credential has ended while an answer was still open. No alarm rings in these services: what ends
 * an answer is the end of the credential, and not that it looks again after a while.
 */

const alarm = { set: () => () => {} }

let service: Service
let call: Call
beforeEach(() => {
  service = createService({ storage: memoryStorage(), sandbox: true, alarm })
  call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
})
afterEach(() => service.close())

/** Follows the events of a caller. Gives all that comes, once the stream has ended. */
async function follow({ token, session }: CallOptions): Promise<{ rest: Promise<string> }> {
  const headers = {
    accept: 'text/event-stream',
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    ...(session !== undefined && { 'x-session-id': session }),
  }
  const answer = await service.fetch(new Request(`${service.baseUrl}/v4/events`, { headers }))
  expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  return { rest: answer.text() }
}

const note = ({ token }: Pick<Payer, 'token'>, type: string) => call('POST', '/v4/events', { token, body: { type } })

describe('an event stream', () => {
  it.each<[string, (session: string) => Promise<Answer>]>([
    ['signed out', (session) => call('DELETE', '/v4/session', { session })],
    [
      'ended from another browser',
      async (session) => {
        const other = await newSession(call, 'ada@example.test')
        const { sessions } = (await call('GET', '/v4/sessions', { session })).body
        const { id } = sessions.find(({ current }: { current: boolean }) => current)
        return call('DELETE', `/v4/sessions/${id}`, { session: other })
      },
    ],
    [
      'signed out by a page of OpenID Connect',
      (session) => call('POST', '/v4/oidc/session/end/confirm', { session, form: { answer: 'sign_out' } }),
    ],
    [
      'replaced by a sign-in',
      async (session) => {
        const email = 'ada@example.test'
        await call('POST', '/v4/session/code', { session, body: { email } })
        const [code] = (await call('GET', `/_sandbox/outbox?to=${email}&limit=1`)).body.messages[0].codes
        return call('POST', '/v4/session/verify', { session, body: { email, code } })
      },
    ],
  ])('of a session ends when it is %s, and shows no later event', async (_, end) => {
    const payer = await newPayer(call, await newSeller(call), { email: 'ada@example.test' })
    const session = await newSession(call, payer.email)
    const { rest } = await follow({ session })
    await note(payer, 'client.before')
    expect((await end(session)).status).toBeLessThan(300)
    await note(payer, 'client.after')
    const told = await rest
    expect([told.includes('client.before'), told.includes('client.after')]).toEqual([true, false])
  })

  it.each(['account', 'user', 'session'] as const)('of an expired %s ends, and shows no later event', async (kind) => {
    await stopClock(call)
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const credentials = {
      account: async () => ({ token: seller.token }),
      user: async () => ({ token: payer.token }),
      session: async () => ({ session: await newSession(call, payer.email) }),
    }
    const { rest } = await follow(await credentials[kind]())
    await advance(call, kind === 'session' ? '1d' : '1h')
    const { clientId, clientSecret } = kind === 'account' ? seller : payer
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
    const { body } = await call('POST', '/v4/account/oauth/token', { headers })
    await note({ token: body.access_token }, 'client.after')
    expect(await rest).not.toContain('client.after')
  })

  it('continues while its credential is valid, whatever else ends', async () => {
    const payer = await newPayer(call, await newSeller(call), { email: 'ada@example.test' })
    const [session, other] = [await newSession(call, payer.email), await newSession(call, payer.email)]
    const { rest } = await follow({ session })
    await call('DELETE', '/v4/session', { session: other })
    await note(payer, 'client.meanwhile')
    await call('DELETE', '/v4/session', { session })
    expect(await rest).toContain('client.meanwhile')
  })
})

describe('a payment that waits for its user', () => {
  it('does not happen after the user signs out of the session behind a page session', async () => {
    const market = await newMarket(call)
    const page = await newPage(call, market)
    const answer = paywall(call, page, { amount: 0.5 })
    const { id } = await askedAuthorization(call, market.payer)
    const { token } = market.payer
    const { sessions } = (await call('GET', '/v4/sessions', { token })).body
    const own = sessions.find(({ origin }: { origin: string | null }) => origin === null)
    await call('DELETE', `/v4/sessions/${own.id}`, { token })
    expectProblem(await answer, 401, 'sign_in_required')
    const late = { token, body: { authorizationId: id, approved: true } }
    expectProblem(await call('PUT', '/v4/paywall/authorizations', late), 400, 'authorization_answered')
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  it('does not happen if its user approves it and then signs out', async () => {
    const market = await newMarket(call)
    const session = await newSession(call, market.payer.email)
    await registerDevice(call, { session })
    const answer = paywall(call, { session }, { amount: 0.5, destination: market.shop })
    const { id } = await askedAuthorization(call, market.payer)
    const { token } = market.payer
    // Both are written before the waiting call looks again.
    const approving = call('PUT', '/v4/paywall/authorizations', {
      token,
      body: { authorizationId: id, approved: true },
    })
    const leaving = call('DELETE', '/v4/session', { session })
    await Promise.all([approving, leaving])
    const { status } = await answer
    const balances = await settledBalances(call, market)
    // Whichever came first: a session that is gone has paid nothing.
    expect([status, ...balances]).toEqual(status === 200 ? [200, 9.5, 0.5] : [401, 10, 0])
  })

  it('does not become a transfer either', async () => {
    const market = await newMarket(call)
    const session = await newSession(call, market.payer.email)
    await registerDevice(call, { session })
    const body = { address: market.shop, amount: 1 }
    const answer = call('POST', '/v4/transfer', { session, body })
    const request = await pendingRequest(market.payer)
    await call('DELETE', '/v4/session', { session })
    expectProblem(await answer, 401, 'sign_in_required')
    expect(request).toBe('second_factor.requested')
    expect(await settledBalances(call, market)).toEqual([10, 0])
  })

  async function pendingRequest({ token }: Payer): Promise<string> {
    for (;;) {
      const { events } = (await call('GET', '/v4/events?type=second_factor.requested', { token })).body
      if (events.length > 0) return events[0].type
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
})

describe('an agent', () => {
  it.each(['revoked', 'disconnected', 'expired'] as const)('gets no more events once its token is %s', async (how) => {
    await stopClock(call)
    const app = await newApp(call)
    const { accessToken: token, session } = await newAgent(call, { app })
    const { headers, message } = modern('subscriptions/listen', { notifications: { toolsListChanged: true } })
    const heard = await service.fetch(
      new Request(`${service.baseUrl}/mcp`, {
        method: 'POST',
        headers: { ...ACCEPT, ...headers, 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      }),
    )
    expect(heard.headers.get('content-type')).toBe('text/event-stream')
    if (how === 'revoked') await call('POST', '/v4/oidc/token/revocation', { form: { client_id: app.id, token } })
    if (how === 'expired') await advance(call, '1h')
    if (how === 'disconnected') {
      const [{ id }] = (await call('GET', '/v4/connections', { session })).body.connections
      await call('DELETE', `/v4/connections/${id}`, { session })
    }
    expect(await heard.text()).not.toContain('list_changed')
    expectProblem(await call('GET', '/v4/agent/account', { token }), 401, 'token_invalid')
  })

  it('buys nothing if its token is revoked while the call waits for its user', async () => {
    const shop = await newMcpShop({}, { alarm })
    const { token } = shop.agent
    const args = { catalog_item_id: shop.item.id, arguments: { city: 'Oslo' } }
    const params = { name: 'agent_checkout', arguments: args }
    const round = async (more: object) => {
      const { headers, message } = modern('tools/call', { ...params, ...more }, { elicitation: { url: {} } })
      return (await send(shop.call, message, { token, headers })).body
    }
    const asked = (await round({})).result
    const { url } = asked.inputRequests.approval.params
    const inputResponses = { approval: { action: 'accept' } }
    const answer = round({ requestState: asked.requestState, inputResponses })
    await new Promise((resolve) => setTimeout(resolve, 50))
    const { client_id } = JSON.parse(atob(token.split('.')[1] as string))
    await shop.call('POST', '/v4/oidc/token/revocation', { form: { client_id, token } })
    await answerApproval(shop.call, shop.payer, url.slice(url.lastIndexOf('/') + 1))
    const body = await answer
    expect(body.code ?? body.result.structuredContent.code).toBe('token_invalid')
    expect(await heldBy(shop.call, shop)).toEqual([10, 10])
    await shop.service.close()
  })
})
