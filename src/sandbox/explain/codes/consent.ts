import { docsOf, isProblemCode } from '../../../base/problem.js'
import { type ApprovalRow, approvalStatus, approvals } from '../../../consent/approvals/approval.js'
import { agentSettings } from '../../../consent/approvals/settings.js'
import { type DeviceRow, devices } from '../../../consent/devices/device.js'
import { phones } from '../../../consent/second-factor/phone.js'
import {
  type AuthenticationRequestRow,
  authenticationRequests,
  findRequest,
  pendingOf,
  requestStatus,
} from '../../../consent/second-factor/request.js'
import { memberships } from '../../../identity/accounts/account.js'
import { users } from '../../../identity/users/user.js'
import type { Explainers } from '../facts/explainer.js'
import type { ExampleCall, Finding, Fix } from '../facts/explanation.js'
import { callingConnection, priceOf, userBehind } from '../facts/price.js'
import { advanced, type Fields, isFields, type RefusedRequest } from '../facts/refused-request.js'
import { endText, money, timeText } from '../facts/words.js'

/** What a user approves, and confirms on a device or behind a mailed link. */
export const consentExplainers = {
  async approval_required(asked) {
    const connection = await callingConnection(asked)
    const price = await priceOf(asked)
    const [[dq, sum] = ['', 0n]] = price?.sums ?? []
    const threshold = connection && (await asked.tx.get(agentSettings, connection.user_id))?.thresholds[dq]
    const id = asked.textFact('approval_id')
    return {
      ...agentFacts(connection),
      amount: price && sum > 0n ? await money(asked.tx, dq, sum) : undefined,
      what: price?.what,
      threshold: threshold === undefined ? null : await money(asked.tx, dq, threshold),
      fix: id === undefined ? requestApproval(asked, asked.facts.approval) : approveFirst(asked, id),
    }
  },

  async approval_not_given(asked) {
    const row = await approvalIn(asked)
    const facts = approvalFacts(row, asked.at)
    const pending = facts.approval_status === 'pending'
    return { ...facts, pending, fix: row && (pending ? approveFirst(asked, row.id) : askAndApprove(asked, row)) }
  },

  async approval_spent(asked) {
    const row = await approvalIn(asked)
    const isSpender = ({ status, request }: { status: number | null; request: { body: string | null } }) =>
      (status ?? 500) < 300 && row !== undefined && (request.body ?? '').includes(row.id)
    return {
      ...approvalFacts(row, asked.at),
      spent_at: row?.spent_at ? timeText(row.spent_at) : null,
      spent_by: (await asked.findEarlier(isSpender))?.id,
      fix: row && askAndApprove(asked, row),
    }
  },

  async approval_mismatch(asked) {
    const row = await approvalIn(asked)
    const differing = row ? differences(asked, row) : []
    const approved = Object.fromEntries(differing.map((each) => [each.field, each.approved]))
    const body = differing.length > 0 ? approved : { approval_id: undefined }
    return { ...approvalFacts(row, asked.at), approved: row?.detail, differing, fix: asked.corrected({ body }) }
  },

  async account_not_granted(asked) {
    const connection = await callingConnection(asked)
    return { ...agentFacts(connection), ...(await accountFacts(asked, connection?.user_id)) }
  },

  async not_choosable(asked) {
    const user = await asked.tx.get(users, (await callingConnection(asked))?.user_id ?? 0)
    const facts = await accountFacts(asked, user?.id)
    const example = { method: 'POST', path: '/_sandbox/sign-in', body: { email: user?.email } }
    return {
      ...{ user: user?.id, email: user?.email, email_verified: user && user.email_verified_at !== null, ...facts },
      fix: facts.accounts.length > 0 ? asked.first('signInAsUser', example) : undefined,
    }
  },

  async change_impossible(asked) {
    const row = await approvalIn(asked)
    const reason = asked.textFact('reason')
    return {
      ...{ ...approvalFacts(row, asked.at), reason, seen: row?.now, changed: asked.facts.changed ?? false },
      reason_docs: reason && docsOf(isProblemCode(reason) ? reason : undefined, asked.service),
      fix: row && reason === undefined ? askAndApprove(asked, row) : undefined,
    }
  },

  change_incomplete: async (asked) => approvalFacts(await approvalIn(asked), asked.at),

  async too_many_pending(asked) {
    const user = await userBehind(asked)
    const [approval, ...others] = await openApprovals(asked)
    const owner = user === undefined ? undefined : `user:${user}`
    if (approval) {
      const fix = asked.first('rejectAsUser', { method: 'POST', path: `/_sandbox/approvals/${approval.id}/reject` })
      return {
        user,
        owner,
        pending: 1 + others.length,
        what: 'approvals of this app',
        most: 20,
        oldest: approval.id,
        fix,
      }
    }
    const requests = user === undefined ? [] : await pendingOf(asked.tx, user, asked.at)
    const [oldest] = requests
    const example = { method: 'POST', path: `/_sandbox/devices/${user}/approve`, body: { id: oldest?.id } }
    return {
      ...{ user, owner, pending: requests.length, what: 'authentication requests', most: 5, oldest: oldest?.id },
      ...(oldest && { fix: asked.first('approveOnPhone', example) }),
    }
  },

  async not_pending(asked) {
    const row = await approvalIn(asked)
    return { request: asked.params.id, ...approvalFacts(row, asked.at), fix: row && askAnew(asked, row) }
  },

  rejected: refusedByUser,
  payment_denied: refusedByUser,
  approval_timeout: refusedByUser,
  self_approval: withAnswerOnPhone,

  async device_refused(asked) {
    const sent_token = 'x-device-token' in asked.entry.request.headers
    const devices = (await requestIn(asked))?.device_ids ?? []
    return { ...(await withAnswerOnPhone(asked)), devices, sent_token }
  },

  async too_many_devices(asked) {
    const user = await userBehind(asked)
    const found = await devicesOf(asked, user)
    const [oldest] = found
    const example = {
      ...{ method: 'DELETE', path: `/v4/notifications/registrations/${oldest?.id}`, as: `user:${user}` },
      headers: asked.deviceToken(),
    }
    return {
      ...{ user, owner: user && `user:${user}`, devices: found.length, most: 20, oldest: oldest?.id },
      oldest_at: oldest && timeText(oldest.created_at),
      fix: oldest && asked.first('deleteRegistration', example),
    }
  },

  async link_early(asked) {
    const device = await asked.tx.get(devices, Number(asked.params.id))
    const from = device?.change?.link_from ?? asked.at
    const facts = { device: device?.id, change: device?.change?.kind, link_from: timeText(from) }
    return { ...facts, fix: asked.later((from - asked.at) / 1000) }
  },

  async link_expired(asked) {
    const request = await requestIn(asked)
    const device = request ? undefined : await asked.tx.get(devices, Number(asked.params.id))
    const until = device?.change?.link_until ?? request?.expires_at
    return { ...requestFacts(request, asked.at), device: device?.id, until: until && timeText(until) }
  },

  authorization_answered: async (asked) => requestFacts(await requestIn(asked), asked.at),
  authorization_expired: async (asked) => requestFacts(await requestIn(asked), asked.at),

  async slow_down(asked) {
    const { path, principal } = asked.entry
    const before = await asked.findEarlier((each) => each.path === path && each.principal === principal)
    return { interval: 2, before: before?.id }
  },
} satisfies Explainers

const agentFacts = (connection: { readonly user_id: number; readonly client_id: string } | undefined) => ({
  user: connection?.user_id,
  owner: connection && `user:${connection.user_id}`,
  client_id: connection?.client_id,
})

async function accountFacts({ tx }: RefusedRequest, userId = 0) {
  const rows = await tx.find(memberships, { index: 'byUser', prefix: [userId], limit: 20 })
  const accounts = rows.map(({ account_id }) => account_id)
  return { accounts, account_names: accounts.map((id) => `account:${id}`) }
}

/** The approval that a request uses, or that its refusal names. */
async function approvalIn(asked: RefusedRequest): Promise<ApprovalRow | undefined> {
  const isInPath = asked.operation?.path.includes('/approvals/:id') ?? false
  const id = asked.sentText('approval_id') ?? asked.textFact('approval_id') ?? (isInPath ? asked.params.id : undefined)
  return id === undefined ? undefined : asked.tx.get(approvals, id)
}

const approvalFacts = (row: ApprovalRow | undefined, at: number) => ({
  approval_id: row?.id,
  approval_status: row && approvalStatus(row, at),
  summary: row?.summary,
  requested_at: row && timeText(row.created_at),
  expires_at: row && timeText(row.expires_at),
})

/** Approves as the user, and then repeats the request with the approval. */
const approveFirst = (asked: RefusedRequest, id: string): Fix =>
  asked.first(
    'approveAsUser',
    { method: 'POST', path: `/_sandbox/approvals/${id}/approve` },
    asked.again({ body: { approval_id: id } }),
  )

const withNewApproval = (asked: RefusedRequest) => asked.again({ body: { approval_id: '{approval_id}' } })

/** Requests an approval, whose id the next request sends. */
function requestApproval(asked: RefusedRequest, wish: unknown): Fix | undefined {
  if (!isFields(wish)) return undefined
  const example = { method: 'POST', path: '/v4/agent/approvals', as: asked.entry.principal ?? '', body: wish }
  return asked.first('createApproval', example, withNewApproval(asked))
}

/** Requests an approval of the same terms. A price that changed is left out, so that the present one is approved. */
function approvalAnew(asked: RefusedRequest, { connection_id, kind, detail }: ApprovalRow): ExampleCall {
  const terms: Fields = { ...(detail as Fields), ...asked.body }
  const pick = (...names: string[]) =>
    Object.fromEntries(names.flatMap((name) => (terms[name] === undefined ? [] : [[name, terms[name]]])))
  const byKind = {
    account_change: pick('change'),
    purchase: { catalog_item_id: terms.catalog_item_id ?? Number(asked.params.id), ...pick('arguments') },
    cart: pick('cart_id'),
    paywall: pick('amount', 'dq', 'destination', 'serviceUrl', 'serviceMethod', 'additionalParams'),
    transfer: {
      ...(terms.payee !== undefined && { address: terms.payee }),
      ...pick('address', 'amount', 'dq', 'memo'),
    },
  }[kind]
  const body = { kind, ...byKind }
  return { method: 'POST', path: '/v4/agent/approvals', as: `agent:${connection_id}`, body }
}

/** Requests an approval again, lets the user approve it, and then makes the request with it. */
function askAndApprove(asked: RefusedRequest, row: ApprovalRow): Fix {
  const approve = { method: 'POST', path: '/_sandbox/approvals/{approval_id}/approve' }
  return asked.firstBoth('createApproval', [approvalAnew(asked, row), approve], withNewApproval(asked))
}

/** Requests an approval again, and then answers the new one. */
function askAnew(asked: RefusedRequest, row: ApprovalRow): Fix {
  const isInPath = asked.params.id !== undefined && asked.operation?.path.includes('/approvals/:id')
  const path = asked.entry.path.replace(asked.params.id ?? '', '{approval_id}')
  const next = isInPath ? asked.again({ path }) : withNewApproval(asked)
  return asked.first('createApproval', approvalAnew(asked, row), next)
}

/** Fields of the request that are not what the user approved. */
function differences({ body }: RefusedRequest, { detail }: ApprovalRow) {
  const terms: Fields = { ...detail, address: detail.payee, destination: detail.payee }
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
  const query = { index: 'byConnection', prefix: [connection, 'pending'], limit: 20 } as const
  const found = await asked.tx.find(approvals, query)
  const open = found.filter((row) => approvalStatus(row, asked.at) === 'pending')
  return open.toSorted((a, b) => a.created_at - b.created_at)
}

/** The user said no, or nothing. */
async function refusedByUser(asked: RefusedRequest): Promise<Finding> {
  const request = await requestIn(asked)
  const user = request?.user_id ?? (await userBehind(asked))
  const phone = user === undefined ? undefined : await asked.tx.get(phones, user)
  return {
    ...requestFacts(request, asked.at),
    ...{ user, status: request && requestStatus(request, asked.at), phone: phone?.mode ?? 'manual' },
    devices: (await devicesOf(asked, user)).length,
    fix: user === undefined ? undefined : approving(asked, user),
  }
}

/** Lets the phone approve. A repetition within two seconds of a 408 counts as that of the browser, which is not asked again. */
function approving(asked: RefusedRequest, user: number): Fix {
  const phone = { method: 'POST', path: `/_sandbox/devices/${user}`, body: { mode: 'approve' } }
  return asked.entry.status === 408 ? asked.firstBoth('setPhone', [phone, advanced(2)]) : asked.first('setPhone', phone)
}

/** The authentication request that a call names, or else the last one of its user. */
async function requestIn(asked: RefusedRequest): Promise<AuthenticationRequestRow | undefined> {
  const isInPath = asked.operation?.path.includes('/authentication-requests/:id') ?? false
  const id = isInPath ? Number(asked.params.id) : asked.sentNumber('authorizationId')
  if (id !== undefined) return findRequest(asked.tx, id)
  const user = await userBehind(asked)
  if (user === undefined) return undefined
  const found = await asked.tx.find(authenticationRequests, { index: 'byUser', prefix: [user], limit: 100 })
  const [last] = found.toSorted((a, b) => b.id - a.id)
  return last && findRequest(asked.tx, last.id)
}

async function devicesOf({ tx }: RefusedRequest, user: number | undefined): Promise<DeviceRow[]> {
  return user === undefined ? [] : tx.find(devices, { index: 'byUser', prefix: [user], limit: 20 })
}

function requestFacts(request: AuthenticationRequestRow | undefined, at: number) {
  if (!request) return { about: 'The user was asked to confirm this.' }
  const { id, action, user_id, created_at, answered_at, expires_at } = request
  const status = requestStatus(request, Math.max(at, answered_at ?? 0))
  const how =
    answered_at === null ? endText(expires_at, Math.max(at, created_at)) : `was ${status} at ${timeText(answered_at)}`
  return {
    about: `The authentication request ${id} asked user:${user_id} to confirm \`${action}\` at ${timeText(created_at)} and ${how}.`,
    ...{ request: id, action, request_status: requestStatus(request, at), asked_at: timeText(created_at) },
    answered_at: answered_at === null ? null : timeText(answered_at),
    expires_at: timeText(expires_at),
  }
}

async function withAnswerOnPhone(asked: RefusedRequest) {
  const request = await requestIn(asked)
  const verb = asked.entry.path.includes('/reject') || asked.body.answer === 'reject' ? 'reject' : 'approve'
  const path = `/_sandbox/devices/${request?.user_id}/${verb}`
  const fix = {
    operation_id: `${verb}OnPhone`,
    example: { method: 'POST', path, body: { id: request?.id } },
    next: null,
  }
  return { ...requestFacts(request, asked.at), fix: request && fix }
}
