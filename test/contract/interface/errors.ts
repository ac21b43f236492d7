import type { Sender, Value } from './rows.js'
import type { Fields } from './shapes.js'

/** An error of the table in section 7, or of a rule in section 4, with a request that is answered with it. */
export interface ErrorRow {
  readonly status: number
  readonly meaning: string
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly sender: Sender
  readonly request?: Readonly<Record<string, Value>>
  /** Fields that are sent as they are. */
  readonly body?: Readonly<Record<string, unknown>>
  /** The code, if the documentation names one. */
  readonly code?: string
  /** Fields of our own design that this error has. */
  readonly designed?: Fields
}

const register = { method: 'POST', path: '/v4/account/register', sender: 'nobody' } as const
const updateAccount = { method: 'PUT', path: '/v4/account', sender: 'an account' } as const

/** The Micro Payment Service Interface, section 7. The test of status 500 stands apart, because it needs a storage that fails. */
export const errorRows: readonly ErrorRow[] = [
  { status: 400, meaning: 'A parameter is missing.', ...register, request: { email: 'a new email' } },
  { status: 400, meaning: 'Neither name nor businessName is given.', ...updateAccount, body: {} },
  { status: 400, meaning: 'A value is not a string or null.', ...updateAccount, body: { businessName: 5 } },
  { status: 401, meaning: 'Authentication is absent.', method: 'GET', path: '/v4/twins', sender: 'nobody' },
  {
    status: 401,
    meaning: 'The token is not the OIDC token of an app that a user connected.',
    method: 'GET',
    path: '/v4/agent/account',
    sender: 'a user',
  },
  {
    status: 403,
    meaning: 'The token does not identify an account.',
    method: 'GET',
    path: '/v4/account',
    sender: 'a user',
  },
  {
    status: 403,
    meaning: 'The agent was granted no account.',
    method: 'POST',
    path: '/v4/agent/account-changes',
    sender: 'an agent without an account',
    request: { approval_id: 'an approved change' },
    code: 'account_not_granted',
  },
  {
    status: 404,
    meaning: 'The addressed resource does not exist.',
    method: 'GET',
    path: '/v2/commodity/00000000-0000-4000-8000-000000000000',
    sender: 'nobody',
  },
  {
    status: 409,
    meaning: 'The email already has a user.',
    ...register,
    request: { dq: 'a digital quantity', email: "the user's email" },
  },
  {
    status: 502,
    meaning: 'A payment provider failed.',
    method: 'POST',
    path: '/v4/twin/{hostname}/topup',
    sender: 'a user',
    body: { amount: 1, payment_method_id: 'pm_processor_down' },
    designed: { payment_id: 'integer', outcome: 'string' },
  },
]
