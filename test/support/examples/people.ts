import { expect } from 'vitest'
import type { Call } from '../api.js'
import { modern, send } from '../mcp/mcp.js'
import { approvedChange, newBusiness, pathOf } from '../scenes/account-changes.js'
import { requestApproval } from '../scenes/approvals.js'
import {
  asClient,
  authorization,
  CALLBACK,
  fill,
  newAgent,
  newApp,
  newConfidentialApp,
  refreshWith,
  startInteraction,
} from '../scenes/oidc.js'
import { answerFromDevice, ask, mailedLink, poll, registerDevice } from '../scenes/second-factor.js'
import { mailedCode, newGuest } from '../scenes/sign-in.js'
import { inviteByMail } from '../scenes/transfers.js'
import { newPayer, newReader, newSession } from '../scenes/world.js'
import type { Tour } from './tour.js'

/** Chapters of the tour in which people sign in, answer, and let apps act for them. */

export async function personas(call: Call, { seller, ada, article }: Tour): Promise<void> {
  const { token } = ada
  const [twin] = (await call('GET', '/v4/twins', { token })).body.twins
  const made = { name: 'Ada', description: 'A reader.', twin_id: twin.id }
  const persona = `/v4/persona/${(await call('POST', '/v4/persona', { token, body: made })).body.hash}`
  await call('GET', persona)
  const spend = { party: { client_id: seller.clientId }, dq: article.dq, limit: 1 }
  const given = { hostname: article.hostname, name: 'The Daily Quark', email: 'holder@example.test', spend }
  const { hash } = (await call('POST', `${persona}/delegate`, { token, body: given })).body
  await call('GET', `${persona}/delegates?limit=2`, { token })
  await call('GET', '/v4/persona/delegates', { token })
  await call('GET', '/v4/persona/delegates', { token: seller.token })
  await call('GET', `${persona}/verify?twin_id=${article.twinId}&issue_min=1&issue_max=5`, { token: seller.token })
  await call('DELETE', `${persona}/delegates/${hash}`, { token })
}

export async function transfers(call: Call, { seller, ada }: Tour): Promise<void> {
  const { token } = ada
  const invited = await inviteByMail(call, { token }, { memo: 'For the coffee.' })
  const guest = await newGuest(call)
  await call('GET', `${invited.path}?step=code`, { session: guest })
  await call('POST', invited.path, { session: guest, form: { answer: 'continue' } })
  await call('GET', `/v4/transfers/${invited.id}`, { token })
  await call('GET', '/v4/transfers?limit=2', { token })
  await call('POST', `/v4/transfers/${invited.id}/cancel`, { token })
  const next = await call('POST', '/v4/transfer', { token, body: { address: 'grace@example.test', amount: 0.5 } })
  const { body } = await call('POST', '/_sandbox/seed', { body: { users: [{ email: 'grace@example.test' }] } })
  const [{ client_id, client_secret }] = body.users
  const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  const grace = (await call('POST', '/v4/account/oauth/token', { headers })).body.access_token
  await call('POST', `/v4/transfers/${next.body.id}/claim`, { token: grace })
  await newPayer(call, seller, { email: 'friend@example.test' })
}

export async function sessions(call: Call, { ada, article }: Tour): Promise<void> {
  const { token } = ada
  await call('POST', '/v4/session', { token })
  const session = await newSession(call, ada.email)
  await call('GET', '/v4/session', { session })
  const page = { hash: article.hash, origin: 'https://shop.example.test' }
  await call('POST', '/v4/session/page', { session, body: page })
  const { sessions: open } = (await call('GET', '/v4/sessions?limit=2', { token })).body
  await call('DELETE', `/v4/sessions/${open[0].id}`, { token })
  const event = { type: 'client.basket.opened', data: { items: 2 } }
  const { id } = (await call('POST', '/v4/events', { token, body: event })).body
  await call('GET', `/v4/events/${id}`, { token })
  await call('GET', '/v4/events?type=payment.posted&limit=2', { token })
}

export async function webhooks(call: Call, { seller: { token } }: Tour): Promise<void> {
  const body = {
    url: 'https://shop.example.test/hook',
    events: ['payment.*', 'purchase.paid'],
    description: 'The shop',
  }
  const { id } = (await call('POST', '/v4/webhooks', { token, body })).body
  await call('GET', '/v4/webhooks?limit=2', { token })
  await call('GET', `/v4/webhooks/${id}`, { token })
  await call('PUT', `/v4/webhooks/${id}`, { token, body: { events: ['payment.*', 'transfer.*'] } })
  const { id: delivery } = (await call('POST', `/v4/webhooks/${id}/test`, { token, body: {} })).body
  const deliveries = `/v4/webhooks/${id}/deliveries`
  // A move of the clock waits for deliveries.
  await call('POST', '/_sandbox/clock', { body: { advance: '0s' } })
  await call('GET', `${deliveries}?limit=2`, { token })
  await call('POST', `${deliveries}/${delivery}/redeliver`, { token, body: {} })
  await call('POST', `/v4/webhooks/${id}/rotate`, { token, body: {} })
  await call('DELETE', `/v4/webhooks/${id}`, { token })
}

export async function devices(call: Call, { seller, until, dq, article }: Tour): Promise<void> {
  const bob = await newReader(call, seller, { email: 'bob@example.test', balance: 5 })
  const { token } = bob
  // Before there is a device: by mail.
  const mailed = async () => {
    await ask(call, bob)
    return mailedLink(call, bob.email)
  }
  const link = await mailed()
  await call('GET', link.path)
  const [path = ''] = link.path.split('?')
  await call('POST', path, { form: { token: link.token, answer: 'approve' } })
  const phone = { platform: 'ios', token: 'device-token', name: "Bob's phone" }
  await call('POST', '/v4/notifications/registrations', { token, body: phone })
  await call('GET', '/v4/notifications/registrations?limit=2', { token })
  const known = { fcmToken: 'device-token', platform: 'ios', deviceId: 'phone-1' }
  await call('POST', '/v3/pay/notifications/register', { token, body: known })
  for (const verb of ['approve', 'reject'] as const) {
    const { id } = (await ask(call, bob)).body
    await poll(call, bob, id)
    await answerFromDevice(call, bob, { id, verb })
  }
  const detail = { merchant_url: 'https://shop.example.test/', merchant_name: 'A shop', dq, amount: 0.5 }
  const wanted = async () => (await ask(call, bob, { action: 'paywall', detail })).body.id
  const withdrawn = await wanted()
  await call('GET', '/v4/paywall/authorizations?limit=2', { token })
  await call('DELETE', '/v4/paywall/authorizations', { token, body: { authorizationId: withdrawn } })
  const session = (await call('POST', '/v3/session', { token })).body.session_id
  const order = { paymentTypeHash: dq, amount: 0.05, destinationUrl: article.hostname, merchantName: 'A shop' }
  const paying = call('POST', '/v3/paywall', { session, body: order })
  const isPending = ({ status }: { status: string }) => status === 'pending'
  const { authorizations } = await until('/v4/paywall/authorizations', token, (shown) =>
    shown.authorizations.some(isPending),
  )
  const answer = { authorizationId: authorizations.find(isPending).id, approved: true }
  await call('PUT', '/v4/paywall/authorizations', { token, body: answer })
  expect((await paying).status).toBe(200)
  const paid = { amount: 0.1, dq, destination: article.hostname, serviceUrl: 'https://api.example.test/' }
  await call('POST', '/v4/paywall', { token, body: { ...paid, serviceMethod: 'GET', additionalParams: { q: 'x' } } })
  // The second device waits for its link.
  await registerDevice(call, bob, 'new-token')
  const { messages } = (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(bob.email)}&kind=mail`)).body
  const links: string[] = messages.flatMap(({ links: all }: { links: string[] }) => all)
  const confirm = links.find((each) => each.includes('/confirm')) as string
  const at = confirm.slice(confirm.indexOf('/v4/'))
  await call('GET', at)
  const proof = { token: new URLSearchParams(at.split('?')[1]).get('token') as string, answer: 'reject' }
  await call('POST', at.split('?')[0] as string, { form: proof })
}

export async function agents(call: Call, tour: Tour): Promise<void> {
  const { seller, item, dq } = tour
  const eve = await newReader(call, seller, { email: 'eve@example.test', balance: 5 })
  const agent = { token: (await newAgent(call, { email: eve.email })).accessToken }
  const wish = { kind: 'purchase', catalog_item_id: item.id, arguments: { city: 'Oslo' }, price: item.price, dq }
  const wished = async () => (await requestApproval(call, agent, wish)).body.approval_id as string
  tour.approve = wished
  const [approved, rejected] = [await wished(), await wished()]
  await call('GET', `/v4/agent/approvals/${approved}`, agent)
  await call('GET', '/v4/approvals?status=pending&limit=2', { token: eve.token })
  await call('POST', `/v4/approvals/${approved}/approve`, { token: eve.token, body: { price: item.price, dq } })
  await call('POST', `/v4/approvals/${rejected}/reject`, { token: eve.token })
  await call('GET', '/v4/agent/settings', { token: eve.token })
  await call('PUT', '/v4/agent/settings', { token: eve.token, body: { approval_threshold: { [dq]: 0.1 } } })
  const session = await newSession(call, eve.email)
  const third = await wished()
  await call('GET', `/approvals/${third}?step=email`, { session })
  await call('POST', `/approvals/${third}`, { session, form: { answer: 'approve' } })

  const business = await newBusiness(call, 'owner@example.test')
  await call('GET', '/v4/agent/account', business.agent)
  const renamed = { kind: 'rename_wallet', hostname: business.hostname, name: 'Shop' }
  const change = await approvedChange(call, business, renamed)
  await call('POST', '/v4/agent/account-changes', { ...business.agent, body: { approval_id: change } })
  const { url } = (await call('POST', '/v4/agent/account-choice', business.agent)).body
  await call('GET', `${pathOf(url)}?step=account`, { session: business.session })
  await fill(call, pathOf(url), business.session, { answer: 'choose', account: String(business.seller.id) })
  for (const path of ['/mcp', `/mcp/${seller.id}`]) {
    const { headers, message } = modern('server/discover')
    await send(call, message, { path, ...agent, headers })
  }
}

export async function openid(call: Call, { url, seller }: Tour): Promise<void> {
  const email = 'cleo@example.test'
  const app = await newApp(call, {
    client_uri: 'https://app.example.test',
    contacts: ['owner@app.example.test'],
    post_logout_redirect_uris: ['https://app.example.test/bye'],
  })
  for (const path of ['openid-configuration', 'oauth-authorization-server']) {
    await call('GET', `/v4/oidc/.well-known/${path}`)
    await call('GET', `/.well-known/${path}/v4/oidc`)
  }
  for (const path of ['', '/mcp', `/mcp/${seller.id}`])
    await call('GET', `/.well-known/oauth-protected-resource${path}`)
  const own = { token: app.registrationToken }
  await call('GET', `/v4/oidc/reg/${app.id}`, own)
  const metadata = { client_id: app.id, client_name: 'Errand Runner', redirect_uris: [CALLBACK] }
  const { status } = await call('PUT', `/v4/oidc/reg/${app.id}`, {
    ...own,
    body: { ...metadata, token_endpoint_auth_method: 'none', id_token_signed_response_alg: 'ES256' },
  })
  expect(status).toBe(200)
  const form = Object.fromEntries(new URLSearchParams(authorization(app).split('?')[1]))
  await call('POST', '/v4/oidc/auth', { form })
  const path = await startInteraction(call, app)
  const guest = await newGuest(call)
  await call('GET', path, { session: guest })
  await fill(call, path, guest, { answer: 'continue', email })
  await fill(call, path, guest, { answer: 'verify', code: await mailedCode(call, email) })
  const agent = await newAgent(call, { app, email: 'dora@example.test' })
  await call('GET', '/v4/oidc/jwks')
  await call('GET', '/v4/oidc/me', { token: agent.accessToken })
  await call('POST', '/v4/oidc/me', { form: { access_token: agent.accessToken } })
  await call('GET', '/v4/connections?limit=2', { session: agent.session })
  const { body } = await refreshWith(call, app, agent.refreshToken)
  const shop = await newConfidentialApp(call)
  const shops = await newAgent(call, { app: shop, email: 'dora@example.test', session: agent.session })
  await asClient(call, shop, 'token/introspection', { token: shops.accessToken, token_type_hint: 'access_token' })
  await asClient(call, app, 'token/revocation', { token: body.access_token, token_type_hint: 'access_token' })
  const [connection] = (await call('GET', '/v4/connections', { session: agent.session })).body.connections
  await call('DELETE', `/v4/connections/${connection.id}`, { session: agent.session })
  const end = { client_id: app.id, id_token_hint: agent.idToken, state: 'a state' }
  await call('GET', `/v4/oidc/session/end?${new URLSearchParams({ client_id: app.id })}`, { session: agent.session })
  await call('POST', '/v4/oidc/session/end', { form: end, headers: { origin: url } })
  const confirmed = { client_id: app.id, answer: 'sign_out' }
  await call('POST', '/v4/oidc/session/end/confirm', { session: agent.session, form: confirmed })
  await call('DELETE', `/v4/oidc/reg/${app.id}`, own)
}
