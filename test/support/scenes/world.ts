import type { Call } from '../api.js'

/** People and things that tests begin with, made through the public interface. */

export interface Seller {
  id: number
  publicSecret: string
  clientId: string
  clientSecret: string
  token: string
}

export interface Payer {
  id: number
  email: string
  clientId: string
  clientSecret: string
  token: string
  hostname: string
}

export const basic = (id: string, secret: string): Record<string, string> => ({
  authorization: `Basic ${btoa(`${id}:${secret}`)}`,
})

export async function tokenFor(call: Call, clientId: string, clientSecret: string): Promise<string> {
  const { body } = await call('POST', '/v4/account/oauth/token', { headers: basic(clientId, clientSecret) })
  return body.access_token
}

export async function newSeller(call: Call): Promise<Seller> {
  const { body } = await call('POST', '/v4/account')
  const [{ public_secret }, { client_id, client_secret }] = body.secrets
  const token = await tokenFor(call, client_id, client_secret)
  return { id: body.id, publicSecret: public_secret, clientId: client_id, clientSecret: client_secret, token }
}

export const defaultDq = async (call: Call): Promise<string> => (await call('GET', '/v4/dq')).body.digital_quantities[0]

export async function newTwin(call: Call, token: string): Promise<{ id: number; hostname: string; key: string }> {
  return (await call('POST', '/v4/twin', { token, body: { dq: await defaultDq(call) } })).body
}

/** A commodity of the seller's, owned by a twin made for it. */
export async function newCommodity(
  call: Call,
  seller: Seller,
  { cost = 0.25, descriptor = 'NEWS.ARTICLE' }: { cost?: number; descriptor?: string } = {},
): Promise<{ hash: string; dq: string; hostname: string; twinId: number; cost: number }> {
  const dq = await defaultDq(call)
  const twin = await newTwin(call, seller.token)
  const body = { descriptor, dq, cost, twin_id: twin.id }
  const commodity = (await call('POST', '/v4/commodity', { token: seller.token, body })).body
  return { hash: commodity.hash, dq, hostname: twin.hostname, twinId: twin.id, cost }
}

let counted = 0

/** A user with client credentials whose primary twin holds `balance`. */
export async function newPayer(
  call: Call,
  seller: Seller,
  { email = `payer-${++counted}@example.test`, balance = 0 }: { email?: string; balance?: number } = {},
): Promise<Payer> {
  const { body } = await call('POST', '/v4/user', { token: seller.token, body: { email } })
  const [{ client_id, client_secret }] = body.secrets
  const token = await tokenFor(call, client_id, client_secret)
  const { hostname } = (await call('GET', '/v4/twins', { token })).body.twins[0]
  if (balance > 0) await call('POST', '/_sandbox/fund', { body: { hostname, amount: balance } })
  return { id: body.id, email: body.email, clientId: client_id, clientSecret: client_secret, token, hostname }
}

/** The same, of a seller that nobody names. */
export const newUser = async (call: Call, options?: Parameters<typeof newPayer>[2]): Promise<Payer> =>
  newPayer(call, await newSeller(call), options)

/** A user as `newPayer` makes them who has proven their email, as readers do at their first sign-in. */
export async function newReader(
  call: Call,
  seller: Seller,
  options: Parameters<typeof newPayer>[2] = {},
): Promise<Payer> {
  const reader = await newPayer(call, seller, options)
  await newSession(call, reader.email)
  return reader
}

/** A user whom a seed makes, proven and without having signed in: what waited for the email before still does. */
export async function newSeededUser(call: Call, email: string): Promise<Payer> {
  const { body } = await call('POST', '/_sandbox/seed', { body: { users: [{ email }] } })
  const [{ id, client_id, client_secret, twin }] = body.users
  const token = await tokenFor(call, client_id, client_secret)
  return { id, email, clientId: client_id, clientSecret: client_secret, token, hostname: twin.hostname }
}

/** Approves what a user was asked last, on whatever device they have. */
export async function approveOnPhone(call: Call, email: string): Promise<void> {
  const { body } = await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&kind=push&limit=1`)
  const { user_id, authentication_request_id: id } = body.messages[0].data
  await call('POST', `/_sandbox/devices/${user_id}/approve`, { body: { id: Number(id) } })
}

/**
 * A signed-in session of a new or known user, by the emailed code, and by their device where they have one; `guest` goes on in it,
 * where one is named.
 */
export async function newSession(call: Call, email: string, guest?: string): Promise<string> {
  const session = guest ?? (await call('GET', '/v4/session')).body.session_id
  await call('POST', '/v4/session/code', { session, body: { email } })
  const { body } = await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(email)}&limit=1`)
  const filled = { email, code: body.messages[0].codes[0] }
  const { status, body: answer } = await call('POST', '/v4/session/verify', { session, body: filled })
  if (status !== 202) return answer.session_id
  await approveOnPhone(call, email)
  const again = { ...filled, request_id: answer.request.id }
  return (await call('POST', '/v4/session/verify', { session, body: again })).body.session_id
}

export const balanceOf = async (call: Call, token: string, hostname: string): Promise<number> =>
  Object.values((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances as Record<string, number>)[0] ?? 0
