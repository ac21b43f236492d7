import { type Problem, problem } from '../../base/problem.js'
import { seconds } from '../../base/time.js'
import { newestFirst } from '../../storage/page.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { answerPending, type SecondFactorAnswer } from './answer.js'
import type { Detail } from './detail.js'
import {
  type AuthenticationRequestRow,
  answeredAt,
  authenticationRequests,
  type RequestStatus,
  recordAnswer,
  requestOf,
  requestStatus,
} from './request.js'

/** Existing clients answer the requests of a paywall with only the user's token. */
const ACTION = 'paywall'

export async function listAuthorizations(
  tx: Reader,
  userId: number,
  { at, ...page }: { limit?: number | undefined; after?: number | undefined; at: number },
) {
  const query = { index: 'byUser', prefix: [userId, ACTION], ...page } as const
  const { rows, next } = await newestFirst(tx, authenticationRequests, { ...query, prefix: [...query.prefix] })
  return { authorizations: rows.map((request) => showAuthorization(request, at)), next }
}

interface AuthorizationOrder {
  readonly userId: number
  readonly id: number
  readonly at: number
}

/** Stores the user's answer to an authorization. Throws `not_found`. Returns `not_pending`. */
export async function answerAuthorization(
  tx: Writer,
  { userId, id, answer, at }: AuthorizationOrder & { readonly answer: SecondFactorAnswer },
): Promise<AuthenticationRequestRow | Problem> {
  return answerPending(tx, await paywallRequest(tx, userId, id), { answer, by: 'token', at })
}

/** Withdraws an authorization that is not used yet. Throws `not_found`. Returns `not_pending`. */
export async function deleteAuthorization(
  tx: Writer,
  { userId, id, at }: AuthorizationOrder,
): Promise<AuthenticationRequestRow | Problem> {
  const request = await paywallRequest(tx, userId, id)
  const isUnused = request.status === 'approved' && request.spent_at === null
  if (isUnused) return recordAnswer(tx, request, { status: 'rejected', by: 'token', at })
  return answerPending(tx, request, { answer: 'rejected', by: 'token', at })
}

async function paywallRequest(tx: Reader, userId: number, id: number): Promise<AuthenticationRequestRow> {
  const request = await requestOf(tx, userId, id)
  if (request.action !== ACTION) throw problem('not_found')
  return request
}

type AuthorizationStatus = Exclude<RequestStatus, 'rejected'> | 'denied'

/** Existing clients say `denied` for `rejected`. */
const authorizationStatus = (request: AuthenticationRequestRow, at: number): AuthorizationStatus => {
  const status = requestStatus(request, at)
  return status === 'rejected' ? 'denied' : status
}

const showAuthorization = (request: AuthenticationRequestRow, at: number) => ({
  id: request.id,
  merchant_url: textIn(request.detail, 'merchant_url'),
  merchant_name: textIn(request.detail, 'merchant_name'),
  payment_type_hash: textIn(request.detail, 'dq'),
  status: authorizationStatus(request, at),
  authorized_at: request.status === 'approved' ? seconds(answeredAt(request)) : null,
  expires_at: seconds(request.expires_at),
  created_at: seconds(request.created_at),
  metadata: request.detail,
})

function textIn(detail: Detail, name: string): string | null {
  const value = detail[name]
  return typeof value === 'string' ? value : null
}

export const showAnsweredAuthorization = (request: AuthenticationRequestRow, at: number) => {
  const status = authorizationStatus(request, at)
  return {
    success: true as const,
    authorizationId: request.id,
    status,
    message: status === 'approved' ? 'The payment is approved.' : 'The payment is denied.',
  }
}
