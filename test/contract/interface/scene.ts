import { expect } from 'vitest'
import { type Call, caller } from '../../support/api.js'
import { sendNode, type WireAnswer } from '../../support/contract/wire.js'
import { approvedChange, type Business, newBusiness } from '../../support/scenes/account-changes.js'
import { fund } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { newDelegate, newPersona } from '../../support/scenes/personas.js'
import {
  basic,
  newCommodity,
  newPayer,
  newSeller,
  newTwin,
  type Payer,
  type Seller,
} from '../../support/scenes/world.js'
import type { Row, Sender, Value } from './rows.js'

/** What the rows of the tables are about: one of each thing. */
export interface Scene {
  readonly url: string
  readonly call: Call
  readonly seller: Seller
  readonly user: Payer
  readonly dq: string
  /** Of the account. */
  readonly twin: { readonly id: number; readonly hostname: string }
  readonly commodity: string
  readonly persona: string
  readonly business: Business
  /** Access token of an agent without a business account. */
  readonly agent: string
}

export async function createScene(running: { url: string; fetch: (request: Request) => Promise<Response> }) {
  const call = caller(running)
  const seller = await newSeller(call)
  const { hash: commodity, dq, hostname, twinId } = await newCommodity(call, seller)
  const user = await newPayer(call, seller, { balance: 5 })
  await fund(call, hostname, 5)
  const { hash: persona } = await newPersona(call, seller)
  for (const { token } of [seller, user])
    await newDelegate(call, seller, { persona, hostname: (await newTwin(call, token)).hostname })
  const business = await newBusiness(call)
  const { accessToken: agent } = await newAgent(call, { email: 'ada@example.test' })
  const twin = { id: twinId, hostname }
  return { url: running.url, call, seller, user, dq, twin, commodity, persona, business, agent }
}

export interface Sent {
  readonly method: string
  readonly path: string
  readonly sender: Sender
  readonly body?: Readonly<Record<string, unknown>> | undefined
  readonly form?: boolean | undefined
  readonly hash?: Row['hash']
}

/** Sends a request over a connection, so that a GET may have a body. */
export async function sendRow(scene: Scene, { sender, body, form, ...row }: Sent): Promise<WireAnswer> {
  const sent = body && (form ? new URLSearchParams(body as Record<string, string>).toString() : JSON.stringify(body))
  const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
  const accept = /\/(binder|inventory)\/?$/.test(row.path) ? { accept: 'text/csv' } : {}
  return sendNode(scene.url + pathOf(scene, sender, row), {
    method: row.method,
    headers: { ...(await credentialsOf(scene, sender)), ...accept, ...(sent && { 'content-type': type }) },
    ...(sent && { body: sent }),
  })
}

const pathOf = (
  { twin, user, commodity, persona }: Scene,
  sender: Sender,
  { path, hash }: Pick<Sent, 'path' | 'hash'>,
) =>
  path
    .replace('{hostname}', sender === 'a user' ? user.hostname : twin.hostname)
    .replace('{user_id}', String(user.id))
    .replace('{hash}', hash === 'a persona' ? persona : commodity)

async function credentialsOf(
  { call, seller, user, business, agent }: Scene,
  sender: Sender,
): Promise<Record<string, string>> {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const client = basic(seller.clientId, seller.clientSecret)
  switch (sender) {
    case 'an account':
      return bearer(seller.token)
    case 'a user':
      return bearer(user.token)
    case 'an agent':
      return bearer(business.agent.token)
    case 'an agent without an account':
      return bearer(agent)
    case 'client credentials':
      return client
    case 'a refresh token':
      return bearer((await call('POST', '/v4/account/oauth/token', { headers: client })).body.refresh_token)
    case 'nobody':
    case 'a page':
      return {}
  }
}

/** Fills in the fields of a request. */
export async function fill(
  scene: Scene,
  sender: Sender,
  request: Readonly<Record<string, Value>>,
): Promise<Record<string, unknown>> {
  const filled: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(request))
    filled[name.replace('?', '')] = await create(scene, sender, value)
  return filled
}

let counted = 0

async function create(scene: Scene, sender: Sender, value: Value): Promise<unknown> {
  const { call, seller, user, dq, twin, business } = scene
  switch (value) {
    case 'a digital quantity':
      return dq
    case 'a new email':
      return `row-${++counted}@example.test`
    case "the user's email":
      return user.email
    case 'client_credentials':
      return value
    case 'a text':
      return 'NEWS.ARTICLE'
    case 'a price':
      return 0.25
    case "the account's twin":
      return twin.id
    case 'the public secret':
      return seller.publicSecret
    case 'an approved change':
      return approvedChange(call, business, { kind: 'update_account', name: `Name ${++counted}` })
    case "the twin's hostname":
      return sender === 'a user' ? user.hostname : twin.hostname
    case 'a nonce of the twin': {
      const { token, hostname } = sender === 'a user' ? user : { ...seller, ...twin }
      const { status, body } = await call('POST', '/v2/twin/nonce', { token, body: { hostname } })
      expect(status).toBe(201)
      return body.nonce
    }
  }
}
