import * as resources from './resources.js'
import { fields, type Kind, listOf, type Shape } from './shapes.js'

/** Who sends a request, and with which credential. */
export type Sender =
  | 'nobody'
  | 'an account' // Bearer, its access token
  | 'a user' // Bearer, their access token
  | 'an agent' // Bearer, the OIDC access token of an app to which a user granted a business account
  | 'an agent without an account'
  | 'client credentials' // Basic
  | 'a refresh token' // Bearer
  | 'a page' // public_secret in the body

/** What a field of a request or a path is filled with. */
export type Value =
  | 'a digital quantity'
  | 'a new email'
  | "the user's email"
  | 'client_credentials'
  | 'a text'
  | 'a price'
  | "the account's twin"
  | 'the public secret'
  | 'an approved change'
  | "the twin's hostname"
  | 'a nonce of the twin'

/** A row of the tables in sections 4.1 to 4.8. */
export interface Row {
  readonly section: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  /** The row works for each of them. */
  readonly senders: readonly Sender[]
  /** What `{hash}` in the path names. */
  readonly hash?: 'a persona' | 'a commodity'
  /** The body, also of a GET. The name of an optional field ends in `?`. */
  readonly request?: Readonly<Record<string, Value>>
  /** The form in which it is sent. Default: JSON. */
  readonly form?: true
  readonly status: number
  /** The JSON answer, or the columns of a CSV answer. */
  readonly answer: Shape | { readonly columns: Readonly<Record<string, Kind>> }
  /** Valid credentials that may not do this, which answers 403. */
  readonly forbidden?: readonly Sender[]
}

const both = ['an account', 'a user'] as const
const oauth = { method: 'POST', status: 200, answer: resources.tokenPair } as const

const createAccount = { method: 'POST', senders: ['nobody'], status: 201, answer: resources.createdAccount } as const
const createUser = {
  method: 'POST',
  senders: ['an account'],
  request: { email: 'a new email' },
  status: 201,
  answer: resources.user,
  forbidden: ['a user', 'an agent'],
} as const
const readUser = { method: 'GET', status: 200 } as const
const createTwin = {
  method: 'POST',
  senders: both,
  request: { dq: 'a digital quantity' },
  status: 201,
  answer: resources.twin,
} as const
const readTwin = { method: 'GET', senders: both, status: 200, answer: resources.twin } as const
const listTwins = { method: 'GET', senders: both, status: 200, answer: resources.twins } as const
const readBinder = { method: 'GET', senders: both, status: 200, answer: { columns: resources.binderRecord } } as const
const readInventory = { ...readBinder, answer: { columns: resources.inventoryRecord } } as const
const createCommodity = {
  method: 'POST',
  senders: ['an account'],
  request: { descriptor: 'a text', dq: 'a digital quantity', cost: 'a price', twin_id: "the account's twin" },
  status: 201,
  answer: resources.commodity,
  forbidden: ['a user'],
} as const
const listDelegates = { method: 'GET', senders: both, status: 200, answer: resources.delegateMapping } as const
const verifyPersona = {
  method: 'GET',
  senders: both,
  hash: 'a persona',
  request: { twin_id: "the account's twin" },
  status: 200,
  answer: resources.verification,
} as const

/** The tables of the Micro Payment Service Interface, sections 4.1 to 4.8, one entry a row and, where it has several, a sender. */
export const rows: readonly Row[] = [
  { section: '4.1', path: '/v4/account', ...createAccount },
  {
    section: '4.1',
    method: 'GET',
    path: '/v4/account',
    senders: ['an account'],
    status: 200,
    answer: resources.account,
    forbidden: ['a user', 'an agent'],
  },
  {
    section: '4.1',
    method: 'PUT',
    path: '/v4/account',
    senders: ['an account'],
    request: { 'name?': 'a text', 'businessName?': 'a text' },
    status: 200,
    answer: resources.updatedAccount,
    forbidden: ['a user', 'an agent'],
  },
  ...['/v4/account/oauth/token', '/v4/user/oauth/token'].flatMap((path): Row[] => [
    { section: '4.1', path, ...oauth, senders: ['client credentials', 'a refresh token'] },
    {
      section: '4.1',
      path,
      ...oauth,
      senders: ['client credentials'],
      request: { 'grant_type?': 'client_credentials' },
    },
    {
      section: '4.1',
      path,
      ...oauth,
      senders: ['client credentials'],
      request: { 'grant_type?': 'client_credentials' },
      form: true,
    },
  ]),
  {
    section: '4.1',
    method: 'POST',
    path: '/v4/account/register',
    senders: ['nobody'],
    request: { dq: 'a digital quantity', email: 'a new email' },
    status: 201,
    answer: resources.registered,
  },

  { section: '4.2', path: '/v4/user', ...createUser },
  { section: '4.2', path: '/v4/user/{user_id}', ...readUser, senders: ['a user'], answer: resources.user },
  {
    section: '4.2',
    path: '/v4/user/{user_id}',
    ...readUser,
    senders: ['an account'],
    request: { 'email?': "the user's email" },
    answer: resources.userWithoutSecrets,
  },

  {
    section: '4.3',
    method: 'GET',
    path: '/v4/dq',
    senders: ['nobody'],
    status: 200,
    answer: resources.quantities,
  },

  { section: '4.4', path: '/v4/twin/', ...createTwin },
  { section: '4.4', path: '/v4/twin/{hostname}', ...readTwin },
  {
    section: '4.4',
    path: '/v4/twin/{hostname}',
    ...readTwin,
    senders: ['a page'],
    request: { public_secret: 'the public secret' },
    answer: resources.twinWithoutKey,
  },
  { section: '4.4', path: '/v4/twins', ...listTwins },
  { section: '4.4', path: '/v4/twin/{hostname}/binder', ...readBinder },
  { section: '4.4', path: '/v4/twin/{hostname}/inventory', ...readInventory },

  { section: '4.5', path: '/v4/commodity/', ...createCommodity },

  { section: '4.6', path: '/v4/persona/delegates', ...listDelegates },
  { section: '4.6', path: '/v4/persona/{hash}/verify', ...verifyPersona },

  {
    section: '4.7',
    method: 'GET',
    path: '/v4/agent/account',
    senders: ['an agent'],
    status: 200,
    answer: resources.agentAccount,
  },
  {
    section: '4.7',
    method: 'POST',
    path: '/v4/agent/account-changes',
    senders: ['an agent'],
    request: { approval_id: 'an approved change' },
    status: 200,
    answer: resources.appliedChange,
  },

  { section: '4.8', path: '/v2/account', ...createAccount },
  { section: '4.8', path: '/v2/account/oauth/token', ...oauth, senders: ['client credentials', 'a refresh token'] },
  { section: '4.8', path: '/v3/user', ...createUser },
  { section: '4.8', path: '/v2/user/{user_id}', ...readUser, senders: ['a user'], answer: resources.user },
  { section: '4.8', path: '/v2/user/oauth/token', ...oauth, senders: ['client credentials', 'a refresh token'] },
  {
    section: '4.8',
    method: 'GET',
    path: '/v2/users',
    senders: ['an account'],
    status: 200,
    answer: fields({}, { users: listOf(resources.userWithoutSecrets), next: 'integer | null' }),
    forbidden: ['a user'],
  },
  { section: '4.8', path: '/v2/twin/', ...createTwin },
  { section: '4.8', path: '/v2/twin/{hostname}', ...readTwin },
  { section: '4.8', path: '/v2/twins', ...listTwins },
  { section: '4.8', path: '/v2/twin/{hostname}/binder', ...readBinder },
  { section: '4.8', path: '/v2/twin/{hostname}/inventory', ...readInventory },
  {
    section: '4.8',
    method: 'POST',
    path: '/v2/twin/nonce',
    senders: both,
    request: { hostname: "the twin's hostname" },
    status: 201,
    answer: fields({}, { nonce: 'string', hostname: 'hostname', expires_at: 'Unix seconds' }),
  },
  {
    section: '4.8',
    method: 'PUT',
    path: '/v2/twin/nonce',
    senders: both,
    request: { hostname: "the twin's hostname", nonce: 'a nonce of the twin' },
    status: 200,
    answer: fields({}, { valid: 'boolean', hostname: 'hostname' }),
  },
  {
    section: '4.8',
    method: 'GET',
    path: '/v2/twin/dq',
    senders: ['nobody'],
    status: 200,
    answer: fields({}, { digital_quantities: listOf('hash') }),
  },
  { section: '4.8', path: '/v2/commodity/', ...createCommodity },
  {
    section: '4.8',
    method: 'GET',
    path: '/v2/commodity/{hash}',
    senders: ['nobody'],
    hash: 'a commodity',
    status: 200,
    answer: resources.commodity,
  },
  { section: '4.8', path: '/v3/persona/delegates', ...listDelegates },
  { section: '4.8', path: '/v3/persona/{hash}/verify', ...verifyPersona },
]
