import { withoutUndefined } from '../../../base/json.js'
import { docsOf, isProblemCode } from '../../../base/problem.js'
import { type ApprovalRow, approvalStatus, approvals } from '../../../consent/approvals/approval.js'
import { agentSettings } from '../../../consent/approvals/settings.js'
import { devices } from '../../../consent/devices/device.js'
import { phones } from '../../../consent/second-factor/phone.js'
import {
  authenticationRequests,
  findRequest,
  pendingOf,
  requestStatus,
} from '../../../consent/second-factor/request.js'
import { memberships } from '../../../identity/accounts/account.js'
import { users } from '../../../identity/users/user.js'
import { isObject } from '../../../storage/unknown.js'
import type { FactsByName, Finding, Fix } from '../facts/explanation.js'
import { callingConnection, priceOf, userBehind } from '../facts/price.js'
import { advance, type Explainers, exampleCall, type RefusedRequest } from '../facts/refused-request.js'
import { endText, money, timeText } from '../facts/words.js'

/** What a user approves, and confirms on a device or behind a mailed link. */
export const consentExplainers = {
  async approval_required(asked) {
    const connection = await callingConnection(asked)
    const { what, sums = [] } = (await priceOf(asked)) ?? {}
    const [[dq, sum] = ['', 0n]] = sums
    const limit = (await asked.get(agentSettings, connection?.user_id))?.thresholds[dq]
    const id = asked.textFact('approval_id')
    const { approval: body } = asked.facts
    const request = { as: asked.entry.principal, body, next: anew(asked) }
    return {
      ...{ ...agentFacts(connection), what, amount: sum > 0n ? await money(asked.tx, dq, sum) : undefined },
      threshold: limit && (await money(asked.tx, dq, limit)),
      fix: id ? approveFirst(asked, id) : isObject(body) && asked.first('POST /v4/agent/approvals', request),
    }
  },
  async approval_not_given(asked) {
    const { row, facts } = await approvalIn(asked)
    const pending = facts.approval_status === 'pending'
    return { ...facts, pending, fix: row && (pending ? approveFirst(asked, row.id) : askAndApprove(asked, row)) }
  },
  async approval_spent(asked) {
    const { row, facts } = await approvalIn(asked)
    const spender = await asked.findEarlier(
      ({ status, request }) => (status ?? 500) < 300 && row !== undefined && (request.body ?? '').includes(row.id),
    )
    return { ...facts, spent_at: row?.spent_at || null, spent_by: spender?.id, fix: row && askAndApprove(asked, row) }
  },
  async approval_mismatch(asked) {
    const { row, facts } = await approvalIn(asked)
    const differing = row ? differences(asked, row) : []
    const approved = Object.fromEntries(differing.map((each) => [each.field, each.approved]))
    const fix = asked.withFields(differing.length > 0 ? approved : { approval_id: undefined })
    return { ...facts, approved: row?.detail, differing, fix }
  },
  async account_not_granted(asked) {
    const connection = await callingConnection(asked)
    return { ...agentFacts(connection), ...(await accountFacts(asked, connection?.user_id)) }
  },
  async not_choosable(asked) {
    const connection = await callingConnection(asked)
    const { id, email, email_verified_at } = (await asked.get(users, connection?.user_id)) ?? {}
    const facts = await accountFacts(asked, id)
    const fix = facts.accounts.length > 0 && asked.first('POST /_sandbox/sign-in', { body: { email } })
    return { user: id, email, email_verified: id && email_verified_at !== null, ...facts, fix }
  },
  async change_impossible(asked) {
    const { row, facts } = await approvalIn(asked)
    const reason = asked.textFact('reason')
    const reason_docs = reason && docsOf(isProblemCode(reason) ? reason : undefined, asked.service)
    const fix = row && reason === undefined && askAndApprove(asked, row)
    return { ...facts, reason, seen: row?.now, changed: asked.facts.changed ?? false, reason_docs, fix }
  },
  change_incomplete: async (asked) => (await approvalIn(asked)).facts,
  async too_many_pending(asked) {
    const user = await userBehind(asked)
    const owner = user && `user:${user}`
    const open = await openApprovals(asked)
    if (open[0]) {
      const [{ id: oldest }] = open
      const fix = asked.first(`POST /_sandbox/approvals/${oldest}/reject`)
      return { user, owner, pending: open.length, what: 'approvals of this app', most: 20, oldest, fix }
    }
    const requests = user === undefined ? [] : await pendingOf(asked.tx, user, asked.at)
    const id = requests[0]?.id
    const facts = { user, owner, pending: requests.length, what: 'authentication requests', most: 5, oldest: id }
    return id ? { ...facts, fix: asked.first(`POST /_sandbox/devices/${user}/approve`, { body: { id } }) } : facts
  },
  async not_pending(asked) {
    const { row, facts } = await approvalIn(asked)
    return { request: asked.params.id, ...facts, fix: row && askAnew(asked, row) }
  },
  rejected: refusedByUser,
  payment_denied: refusedByUser,
  approval_timeout: refusedByUser,
  self_approval: withAnswerOnPhone,
  async device_refused(asked) {
    const sent_token = 'x-device-token' in asked.entry.request.headers
    const { request } = await requestIn(asked)
    return { ...(await withAnswerOnPhone(asked)), devices: request?.device_ids ?? [], sent_token }
  },
  async too_many_devices(asked) {
    const user = await userBehind(asked)
    const owner = user && `user:${user}`
    const found = await asked.rows(devices, 'byUser', [user ?? 0], 20)
    const { id: oldest, created_at: oldest_at } = found[0] ?? {}
    const parts = { as: `user:${user}`, headers: asked.deviceToken() }
    const fix = oldest && asked.first(`DELETE /v4/notifications/registrations/${oldest}`, parts)
    return { user, owner, devices: found.length, most: 20, oldest, oldest_at, fix }
  },
  async link_early(asked) {
    const { id, change } = (await asked.tx.get(devices, Number(asked.params.id))) ?? {}
    const link_from = change?.link_from ?? asked.at
    return { device: id, change: change?.kind, link_from, fix: asked.later((link_from - asked.at) / 1000) }
  },
  async link_expired(asked) {
    const { request, facts } = await requestIn(asked)
    const { id, change } = (request ? undefined : await asked.tx.get(devices, Number(asked.params.id))) ?? {}
    return { ...facts, device: id, until: change?.link_until ?? request?.expires_at }
  },
  authorization_answered: async (asked) => (await requestIn(asked)).facts,
  authorization_expired: async (asked) => (await requestIn(asked)).facts,
  async slow_down(asked) {
    const { path, principal } = asked.entry
    const before = await asked.findEarlier((each) => each.path === path && each.principal === principal)
    return { interval: 2, before: before?.id }
  },
} satisfies Explainers

const agentFacts = ({ user_id, client_id }: { readonly user_id?: number; readonly client_id?: string } = {}) => ({
  ...{ user: user_id, owner: user_id && `user:${user_id}`, client_id },
})

async function accountFacts(asked: RefusedRequest, userId = 0) {
  const accounts = (await asked.rows(memberships, 'byUser', [userId], 20)).map(({ account_id }) => account_id)
  return { accounts, account_names: accounts.map((id) => `account:${id}`) }
}

async function approvalIn(asked: RefusedRequest) {
  const id = asked.sentText('approval_id') ?? asked.textFact('approval_id') ?? asked.idIn('approvals')
  const row = await asked.get(approvals, id)
  const approval_status = row && approvalStatus(row, asked.at)
  const times = { requested_at: row?.created_at, expires_at: row?.expires_at }
  return { row, facts: { approval_id: row?.id, approval_status, summary: row?.summary, ...times } }
}

const approveFirst = (asked: RefusedRequest, id: string): Fix =>
  asked.first(`POST /_sandbox/approvals/${id}/approve`, { next: asked.again({ body: { approval_id: id } }) })

const anew = (asked: RefusedRequest) => asked.again({ body: { approval_id: '{approval_id}' } })

/** Requests an approval of the same terms. A price that changed is left out, so that the present one is approved. */
function termsAnew(asked: RefusedRequest, { connection_id, kind, detail }: ApprovalRow) {
  const terms: FactsByName = { ...(detail as FactsByName), ...asked.body }
  const pick = (...names: string[]) => withoutUndefined(Object.fromEntries(names.map((name) => [name, terms[name]])))
  const byKind = {
    account_change: pick('change'),
    purchase: { catalog_item_id: terms.catalog_item_id ?? Number(asked.params.id), ...pick('arguments') },
    cart: pick('cart_id'),
    paywall: pick('amount', 'dq', 'destination', 'serviceUrl', 'serviceMethod', 'additionalParams'),
    transfer: withoutUndefined({ address: terms.payee, ...pick('address', 'amount', 'dq', 'memo') }),
  }[kind]
  return { as: `agent:${connection_id}`, body: { kind, ...byKind } }
}

function askAndApprove(asked: RefusedRequest, row: ApprovalRow): Fix {
  const between = exampleCall('POST /_sandbox/approvals/{approval_id}/approve')
  return asked.first('POST /v4/agent/approvals', { ...termsAnew(asked, row), between, next: anew(asked) })
}

/** Requests an approval again, and then answers the new one. */
function askAnew(asked: RefusedRequest, row: ApprovalRow): Fix {
  const id = asked.idIn('approvals')
  const next = id === undefined ? anew(asked) : asked.again({ path: asked.entry.path.replace(id, '{approval_id}') })
  return asked.first('POST /v4/agent/approvals', { ...termsAnew(asked, row), next })
}

function differences({ body }: RefusedRequest, { detail }: ApprovalRow) {
  const terms: FactsByName = { ...detail, address: detail.payee, destination: detail.payee }
  return Object.entries(body).flatMap(([field, sent]) => {
    const approved = terms[field] ?? (field === 'arguments' ? (terms.arguments ?? {}) : undefined)
    const isSame = approved === undefined || JSON.stringify(approved) === JSON.stringify(sent)
    return isSame ? [] : [{ field, approved, sent }]
  })
}

/** The approvals of the calling app that wait, if an app asked for one more. The oldest first. */
async function openApprovals(asked: RefusedRequest): Promise<ApprovalRow[]> {
  const connection = asked.callerId('agent')
  if (connection === undefined || asked.entry.operation_id !== 'createApproval') return []
  const found = await asked.rows(approvals, 'byConnection', [connection, 'pending'], 20)
  const open = found.filter((row) => approvalStatus(row, asked.at) === 'pending')
  return open.toSorted((a, b) => a.created_at - b.created_at)
}

/** The user said no, or nothing. Lets the phone approve. */
async function refusedByUser(asked: RefusedRequest): Promise<Finding> {
  const { request, facts } = await requestIn(asked)
  const user = request?.user_id ?? (await userBehind(asked))
  const phone = (await asked.get(phones, user))?.mode ?? 'manual'
  const { length } = await asked.rows(devices, 'byUser', [user ?? 0], 20)
  // A repetition within two seconds of a 408 counts as that of the browser, which is not asked again.
  const between = asked.entry.status === 408 && { between: exampleCall(...advance(2)) }
  const fix = user && asked.first(`POST /_sandbox/devices/${user}`, { body: { mode: 'approve' }, ...between })
  return { ...facts, user, status: request && requestStatus(request, asked.at), phone, devices: length, fix }
}

/** The authentication request that a call names, or else the last one of its user. */
async function requestIn(asked: RefusedRequest) {
  const named = Number(asked.idIn('authentication-requests') ?? asked.sentNumber('authorizationId'))
  const user = Number.isNaN(named) ? await userBehind(asked) : undefined
  const found = await asked.rows(authenticationRequests, 'byUser', [user ?? 0], 100)
  const id = found.reduce((last, each) => Math.max(last, each.id), named || 0)
  const request = id === 0 ? undefined : await findRequest(asked.tx, id)
  if (!request) return { request, facts: { about: 'The user was asked to confirm this.' } }
  const { action, user_id, created_at, answered_at, expires_at } = request
  const status = requestStatus(request, Math.max(asked.at, answered_at ?? 0))
  const end = endText(expires_at, Math.max(asked.at, created_at))
  const how = answered_at === null ? end : `was ${status} at ${timeText(answered_at)}`
  const about = `The authentication request ${id} asked user:${user_id} to confirm \`${action}\` at ${timeText(created_at)} and ${how}.`
  const times = { asked_at: created_at, answered_at, expires_at }
  return { request, facts: { about, request: id, action, request_status: requestStatus(request, asked.at), ...times } }
}

async function withAnswerOnPhone(asked: RefusedRequest) {
  const { request, facts } = await requestIn(asked)
  const verb = asked.entry.path.includes('/reject') || asked.body.answer === 'reject' ? 'reject' : 'approve'
  const { id, user_id } = request ?? {}
  const fix = id && asked.first(`POST /_sandbox/devices/${user_id}/${verb}`, { body: { id }, next: null })
  return { ...facts, fix }
}
