import { docsOf, isProblemCode } from '../../../base/problem.js'
import { type ApprovalRow, approvalStatus, approvals } from '../../../consent/approvals/approval.js'
import { agentSettings } from '../../../consent/approvals/settings.js'
import { pendingOf } from '../../../consent/second-factor/request.js'
import { memberships } from '../../../identity/accounts/account.js'
import { users } from '../../../identity/users/user.js'
import type { Explainers } from '../facts/explainer.js'
import type { ExampleCall, Fix } from '../facts/explanation.js'
import { callingConnection, priceOf, userBehind } from '../facts/price.js'
import {
  again,
  askedWait,
  callerId,
  corrected,
  type Fields,
  first,
  firstBoth,
  isFields,
  later,
  type RefusedRequest,
  responseText,
  sentText,
} from '../facts/refused-request.js'
import { endText, listText, money, named, ownerText, plural, timeText } from '../facts/words.js'

/** What the user of an agent must approve. */
export const approvalExplainers = {
  async approval_required(asked) {
    const connection = await callingConnection(asked)
    const price = await priceOf(asked)
    const [[dq, sum] = ['', 0n]] = price?.sums ?? []
    const settings = connection && (await asked.tx.get(agentSettings, connection.user_id))
    const threshold = settings?.thresholds[dq]
    const id = responseText(asked, 'approval_id')
    const about = price && sum > 0n ? `${await money(asked.tx, dq, sum)} for ${price.what}` : 'this change'
    return {
      sentences: [
        `${named('app', connection?.client_id)} asked for ${about}, on behalf of ${connection ? await ownerText(asked.tx, `user:${connection.user_id}`) : 'a user'}.`,
        threshold === undefined
          ? 'The user had set no threshold for this digital quantity, so every payment needs an approval.'
          : `The user lets agents pay up to ${await money(asked.tx, dq, threshold)} without asking.`,
        ...(id === undefined
          ? []
          : [`The approval ${id} waits for the user. Approve it, then repeat the request with \`approval_id\`.`]),
      ],
      facts: {
        user: connection?.user_id ?? null,
        client_id: connection?.client_id ?? null,
        amount: price && (await money(asked.tx, dq, sum)),
        threshold: threshold === undefined ? null : await money(asked.tx, dq, threshold),
        approval_id: id ?? null,
      },
      fix: id === undefined ? requestApproval(asked, asked.refusal.approval) : approveFirst(asked, id),
    }
  },

  async approval_not_given(asked) {
    const row = await approvalIn(asked)
    const status = row ? approvalStatus(row, asked.at) : responseText(asked, 'approval_status')
    return {
      sentences: [
        `${named('approval', row?.id)} was ${status ?? 'not given'}${row ? `. It was requested at ${timeText(row.created_at)} and ${endText(row.expires_at, asked.at)}` : ''}.`,
        status === 'pending' ? 'Let the user approve it, then repeat the request.' : NEW_APPROVAL,
      ],
      facts: approvalFacts(row, asked.at),
      fix: row && (status === 'pending' ? approveFirst(asked, row.id) : askAndApprove(asked, row)),
    }
  },

  async approval_spent(asked) {
    const row = await approvalIn(asked)
    const spender =
      row &&
      (await asked.findEarlier(({ status, request }) => (status ?? 500) < 300 && (request.body ?? '').includes(row.id)))
    return {
      sentences: [
        `${named('approval', row?.id)} was used${row?.spent_at ? ` at ${timeText(row.spent_at)}` : ''}${spender ? ` by ${spender.id}` : ''}.`,
        'An approval allows one action.',
        NEW_APPROVAL,
      ],
      facts: {
        ...approvalFacts(row, asked.at),
        spent_at: row?.spent_at ? timeText(row.spent_at) : null,
        spent_by: spender?.id ?? null,
      },
      fix: row && askAndApprove(asked, row),
    }
  },

  async approval_mismatch(asked) {
    const row = await approvalIn(asked)
    const differing = row ? differences(asked, row) : []
    return {
      sentences: [
        ...(row ? [`The approval ${row.id} is for: ${row.summary}`] : []),
        ...differing.map(
          ({ field, approved, sent }) =>
            `\`${field}\` was ${JSON.stringify(sent)}, and the user approved ${JSON.stringify(approved)}.`,
        ),
      ],
      facts: { ...approvalFacts(row, asked.at), approved: row?.detail ?? null, differing },
      fix:
        differing.length > 0
          ? corrected(asked, { body: Object.fromEntries(differing.map(({ field, approved }) => [field, approved])) })
          : corrected(asked, { body: { approval_id: undefined } }),
    }
  },

  async account_not_granted(asked) {
    const connection = await callingConnection(asked)
    const accounts = connection ? await accountsOf(asked, connection.user_id) : []
    return {
      sentences: [
        connection
          ? `${await ownerText(asked.tx, `user:${connection.user_id}`)} connected ${connection.client_id} without a business account.`
          : 'The user connected the app without a business account, or has withdrawn it.',
        accounts.length > 0
          ? `The user belongs to ${listText(accounts.map((id) => `account:${id}`))}. Ask for one.`
          : 'The user belongs to no account, so there is none to grant.',
        'POST /v4/agent/account-choice returns a link at which the user chooses one. Send the request again after that.',
      ],
      facts: { user: connection?.user_id ?? null, client_id: connection?.client_id ?? null, accounts },
    }
  },

  async not_choosable(asked) {
    const connection = await callingConnection(asked)
    const user = connection && (await asked.tx.get(users, connection.user_id))
    const accounts = connection ? await accountsOf(asked, connection.user_id) : []
    const isProven = user?.email_verified_at !== null
    return {
      sentences: [
        accounts.length === 0
          ? `${user?.email ?? 'The user'} belongs to no account.`
          : `${user?.email} is named by ${listText(accounts.map((id) => `account:${id}`))}, and ${isProven ? 'is proven' : 'has not proven the address'}.`,
        'POST /v4/account/register makes an account with a new user. A user who is named signs in with a code first.',
      ],
      facts: { user: user?.id ?? null, email: user?.email ?? null, email_verified: isProven, accounts },
      fix:
        accounts.length > 0 && user
          ? first(asked, 'signInAsUser', { method: 'POST', path: '/_sandbox/sign-in', body: { email: user.email } })
          : undefined,
    }
  },

  async change_impossible(asked) {
    const row = await approvalIn(asked)
    const reason = responseText(asked, 'reason')
    return {
      sentences: [
        ...(row ? [`The user approved: ${row.summary}`] : []),
        reason === undefined
          ? `The values were ${JSON.stringify(row?.now ?? {})} when the user saw them, and differ now.`
          : `The change itself was refused with \`${reason}\`.`,
        asked.refusal.changed === true ? 'Some of its steps were made and are kept.' : 'Nothing was changed.',
        reason === undefined
          ? 'Request a new approval. Its user sees the present values.'
          : `Fix \`${reason}\` first: ${docsOf(isProblemCode(reason) ? reason : undefined, asked.service)}. Then apply the change again.`,
      ],
      facts: {
        ...approvalFacts(row, asked.at),
        reason: reason ?? null,
        changed: asked.refusal.changed ?? false,
        made: asked.refusal.made ?? null,
        seen: row?.now ?? null,
      },
      fix: row && reason === undefined ? askAndApprove(asked, row) : undefined,
    }
  },

  async change_incomplete(asked) {
    const row = await approvalIn(asked)
    return {
      sentences: [
        ...(row ? [`The user approved: ${row.summary}`] : []),
        `These parts were made: ${JSON.stringify(asked.refusal.made ?? {})}. The approval is used.`,
        'Request an approval for what is left.',
      ],
      facts: { ...approvalFacts(row, asked.at), made: asked.refusal.made ?? null },
    }
  },

  async too_many_pending(asked) {
    const user = await userBehind(asked)
    const who = user === undefined ? 'the user' : await ownerText(asked.tx, `user:${user}`)
    const wait = askedWait(asked, 120)
    const waiting = await openApprovals(asked)
    const requests = user === undefined || waiting.length > 0 ? [] : await pendingOf(asked.tx, user, asked.at)
    const [approval, request] = [waiting[0], requests[0]]
    const pending = waiting.length || requests.length
    const most = approval ? 20 : 5
    return {
      sentences: [
        `${plural(pending, approval ? 'approval' : 'authentication request')}${approval ? ' of this app' : ''} waited for ${who}. At most ${most} may.`,
        approval
          ? `Let the user answer one, or wait ${wait} seconds.`
          : `Let the user approve one, or wait ${wait} seconds. A rejected one still counts as a message for 15 minutes.`,
      ],
      facts: { user: user ?? null, pending, most, retry_after: wait, oldest: approval?.id ?? request?.id ?? null },
      fix: approval
        ? first(asked, 'rejectAsUser', { method: 'POST', path: `/_sandbox/approvals/${approval.id}/reject` })
        : request
          ? first(asked, 'approveOnPhone', {
              method: 'POST',
              path: `/_sandbox/devices/${user}/approve`,
              body: { id: request.id },
            })
          : later(asked, wait),
    }
  },

  async not_pending(asked) {
    const row = await approvalIn(asked)
    const status = row && approvalStatus(row, asked.at)
    return {
      sentences: [
        row
          ? `The approval ${row.id} was ${status} and ${endText(row.expires_at, asked.at)}.`
          : `The request ${asked.params.id ?? ''} had been answered, or had expired.`,
        'What has ended cannot be answered. The app must ask again.',
      ],
      facts: row ? approvalFacts(row, asked.at) : { request: asked.params.id ?? null },
      fix: row && askAnew(asked, row),
    }
  },
} satisfies Explainers

const NEW_APPROVAL =
  'Request a new approval, let the user approve it (POST /_sandbox/approvals/{id}/approve), and send its id.'

/** The approval that a request uses, or that its refusal names. */
async function approvalIn(asked: RefusedRequest): Promise<ApprovalRow | undefined> {
  const isInPath = asked.operation?.path.includes('/approvals/:id') ?? false
  const id =
    sentText(asked, 'approval_id') ?? responseText(asked, 'approval_id') ?? (isInPath ? asked.params.id : undefined)
  return id === undefined ? undefined : asked.tx.get(approvals, id)
}

const approvalFacts = (row: ApprovalRow | undefined, at: number) => ({
  approval_id: row?.id ?? null,
  approval_status: row ? approvalStatus(row, at) : null,
  summary: row?.summary ?? null,
  expires_at: row ? timeText(row.expires_at) : null,
})

/** Approves as the user, and then repeats the request with the approval. */
const approveFirst = (asked: RefusedRequest, id: string): Fix =>
  first(
    asked,
    'approveAsUser',
    { method: 'POST', path: `/_sandbox/approvals/${id}/approve` },
    again(asked, { body: { approval_id: id } }),
  )

/** Requests an approval, whose id the next request sends. */
function requestApproval(asked: RefusedRequest, wish: unknown): Fix | undefined {
  if (!isFields(wish)) return undefined
  const example = { method: 'POST', path: '/v4/agent/approvals', as: asked.entry.principal ?? '', body: wish }
  return first(asked, 'createApproval', example, again(asked, { body: { approval_id: '{approval_id}' } }))
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
const askAndApprove = (asked: RefusedRequest, row: ApprovalRow): Fix =>
  firstBoth(
    asked,
    'createApproval',
    [approvalAnew(asked, row), { method: 'POST', path: '/_sandbox/approvals/{approval_id}/approve' }],
    again(asked, { body: { approval_id: '{approval_id}' } }),
  )

/** Requests an approval again, and then answers the new one. */
function askAnew(asked: RefusedRequest, row: ApprovalRow): Fix {
  const isInPath = asked.params.id !== undefined && asked.operation?.path.includes('/approvals/:id')
  const next = isInPath
    ? again(asked, { path: asked.entry.path.replace(asked.params.id ?? '', '{approval_id}') })
    : again(asked, { body: { approval_id: '{approval_id}' } })
  return first(asked, 'createApproval', approvalAnew(asked, row), next)
}

/** Fields of the request that are not what the user approved. */
function differences(
  { body }: RefusedRequest,
  { detail }: ApprovalRow,
): { field: string; approved: unknown; sent: unknown }[] {
  const terms: Readonly<Record<string, unknown>> = { ...detail, address: detail.payee, destination: detail.payee }
  return Object.entries(body).flatMap(([field, sent]) => {
    const approved = terms[field] ?? (field === 'arguments' ? (terms.arguments ?? {}) : undefined)
    return approved === undefined || JSON.stringify(approved) === JSON.stringify(sent)
      ? []
      : [{ field, approved, sent }]
  })
}

async function accountsOf({ tx }: RefusedRequest, userId: number): Promise<number[]> {
  const rows = await tx.find(memberships, { index: 'byUser', prefix: [userId], limit: 20 })
  return rows.map(({ account_id }) => account_id)
}

/** The approvals of the calling app that wait, if an app asked for one more. The oldest first. */
async function openApprovals(asked: RefusedRequest): Promise<ApprovalRow[]> {
  const connection = callerId(asked, 'agent')
  if (connection === undefined || asked.entry.operation_id !== 'createApproval') return []
  const query = { index: 'byConnection', prefix: [connection, 'pending'], limit: 20 } as const
  const found = await asked.tx.find(approvals, query)
  return found
    .filter((row) => approvalStatus(row, asked.at) === 'pending')
    .toSorted((a, b) => a.created_at - b.created_at)
}
