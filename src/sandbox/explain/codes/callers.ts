import { normalEmail } from '../../../base/text/email.js'
import { accounts } from '../../../identity/accounts/account.js'
import { sessions } from '../../../identity/sessions/session.js'
import { codesOfNetwork, signInCodes, wrongCodes } from '../../../identity/sessions/sign-in-code.js'
import { clientFailures, clients } from '../../../identity/tokens/client.js'
import { tokens } from '../../../identity/tokens/token.js'
import { networkAt } from '../../../identity/users/new-per-day.js'
import { userByEmail, users } from '../../../identity/users/user.js'
import { codesIn, outbox } from '../../../jobs/outbox/outbox.js'
import { attemptsOf, rates } from '../../../jobs/rates/rate.js'
import {
  clientIdOf,
  createAccountFirst,
  credentialFirst,
  likelyAccount,
  likelyUser,
  signInFirst,
  tokenFirst,
} from '../facts/credentials.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import { callingConnection, userBehind } from '../facts/price.js'
import type { RefusedRequest } from '../facts/refused-request.js'
import { timeText } from '../facts/words.js'

/** Who calls, by what credential, and how users sign in. */
export const callerExplainers = {
  authorization_missing: needsCredential,
  bearer_required: needsCredential,
  wrong_principal: needsCredential,
  credentials_missing: needsTokenOfKind,
  scheme_refused: needsTokenOfKind,

  async client_unknown(asked) {
    const kind = kindOf(asked)
    const [, id] = /^client:(.+)$/.exec(asked.entry.principal ?? '') ?? []
    const client = id === undefined ? undefined : await asked.tx.get(clients, id)
    const found = await asked.tx.find(clients, { index: 'byOwner', prefix: [kind], limit: 5, reverse: true })
    const valid = found.filter(({ deleted_at }) => deleted_at === null)
    const known = client?.deleted_at === null ? client : valid[0]
    return {
      client_id: id,
      owner: client && `${client.owner_kind}:${client.owner_id}`,
      other_kind: client && client.owner_kind !== kind,
      revoked_at: client?.deleted_at == null ? null : timeText(client.deleted_at),
      newest: known?.id === id ? undefined : known?.id,
      client_ids: valid.map((row) => row.id),
      fix: known ? await tokenOnly(asked, kind, known.owner_id) : createAccountFirst(asked),
    }
  },

  async token_invalid(asked) {
    return { ...(await needsCredential(asked)), ended: await endedTokens(asked) }
  },

  async refresh_token_invalid(asked) {
    const rows = await asked.tx.find(tokens, { index: 'byEnd', prefix: [], limit: 20, reverse: true })
    const kind = kindOf(asked)
    const used = rows.filter(({ owner_kind, refresh_digest }) => owner_kind === kind && refresh_digest === null)
    return { ...(await needsTokenOfKind(asked)), used: used.length }
  },

  async public_secret_unknown(asked) {
    const known = await asked.tx.find(accounts, { index: 'id', prefix: [], limit: 5, reverse: true })
    const change = { public_secret: known[0]?.public_secret }
    return {
      accounts: known.map(({ id }) => `account:${id}`),
      public_secrets: known.map(({ id, public_secret }) => ({ account: id, public_secret })),
      fix: known[0] && asked.corrected('public_secret' in asked.query ? { query: change } : { body: change }),
    }
  },

  async sign_in_required(asked) {
    const [last] = await asked.tx.find(sessions, { index: 'id', prefix: [], limit: 1, reverse: true })
    return {
      owner: last && `user:${last.user_id}`,
      session_ends_at: last && timeText(last.expires_at),
      newest_session: last && { user: last.user_id, expires_at: last.expires_at },
      fix: await signInFirst(asked),
    }
  },

  async page_refused(asked) {
    const found = await asked.tx.find(sessions, { index: 'id', prefix: [], limit: 100, reverse: true })
    const origins = [...new Set(found.flatMap(({ page }) => (page ? [page.origin] : [])))]
    const [origin] = origins
    const fix = origin === undefined ? undefined : asked.corrected({ headers: { origin } })
    return { origin: asked.entry.request.headers.origin, origins, fix }
  },

  async not_an_account(asked) {
    const account = await likelyAccount(asked)
    const owner = account === undefined ? undefined : `account:${account}`
    return { account, owner, fix: await tokenFirst(asked, 'account', account) }
  },

  async insufficient_scope(asked) {
    const connection = await callingConnection(asked)
    const needed = asked.operation?.agentScope ?? 'twin'
    const granted = connection?.scopes ?? []
    const parameters = new URLSearchParams({
      response_type: 'code',
      ...(connection && { client_id: connection.client_id }),
      scope: [...new Set([...granted, 'openid', needed])].join(' '),
    })
    const owner = connection && `user:${connection.user_id}`
    const { client_id, user_id: user } = connection ?? {}
    return { needed, granted, client_id, user, owner, authorize: `/v4/oidc/auth?${parameters}` }
  },

  async too_many_failures(asked) {
    const [, id] = /^client:(.+)$/.exec(asked.entry.principal ?? '') ?? []
    const client_id = asked.sentText('client_id') ?? id
    const wrong = await attemptsOf(asked.tx, clientFailures, { subject: client_id ?? '', at: asked.at })
    const client = client_id === undefined ? undefined : await asked.tx.get(clients, client_id)
    const fix = client ? await tokenOnly(asked, client.owner_kind, client.owner_id) : asked.later(asked.waitOf(60))
    return { client_id, wrong, fix }
  },

  async session_required(asked) {
    const { email, codes } = await codesOf(asked)
    return {
      email,
      codes: codes.length,
      mailed_at: timeText(codes[0]?.created_at ?? 0),
      fix: newCodeFirst(asked, email),
    }
  },

  async code_wrong(asked) {
    const { email, last } = await codesOf(asked)
    const code = await mailedCode(asked, email)
    return {
      email,
      ...(last && {
        tries: last.tries,
        tries_left: TRIES - last.tries,
        most: TRIES,
        mailed_at: timeText(last.created_at),
      }),
      expires_at: last && timeText(last.expires_at),
      outbox_code: code,
      fix: code === undefined ? newCodeFirst(asked, email) : asked.corrected({ body: { code } }),
    }
  },

  async code_expired(asked) {
    const { email, last } = await codesOf(asked)
    const times = last && { expires_at: timeText(last.expires_at), mailed_at: timeText(last.created_at) }
    return { email, used: last?.used, ...times, fix: newCodeFirst(asked, email) }
  },

  async too_many_tries(asked) {
    const { email, last } = await codesOf(asked)
    const wrong = await attemptsOf(asked.tx, wrongCodes, { subject: email, at: asked.at })
    // Only the limit of the day refuses to mail a code, however often the last one was tried.
    const isOfCode = asked.sent('code') !== undefined && (last?.tries ?? 0) >= TRIES
    if (!isOfCode && wrong >= wrongCodes.most) return { email, wrong, most: wrongCodes.most }
    return { email, tries: last?.tries ?? TRIES, most: TRIES, fix: newCodeFirst(asked, email) }
  },

  async too_many_codes(asked) {
    const { email, codes } = await codesOf(asked)
    const { codes: most } = asked.service.limits
    const unused = codes.filter(({ used, created_at }) => !used && created_at > asked.at - 15 * 60_000).length
    const { client_address } = asked.entry
    const network = unused < most ? networkAt(client_address) : undefined
    if (network === undefined) return { email, unused, most }
    const all = await attemptsOf(asked.tx, codesOfNetwork, { subject: network, at: asked.at })
    return { client_address, unused: all, most: codesOfNetwork.most }
  },

  async too_many_mails(asked) {
    const rows = await asked.tx.find(rates, { index: 'byEnd', prefix: [], limit: 50, reverse: true })
    const full = rows.filter(({ times }) => times.length >= 5)
    const full_limits = full.map(({ id, times }) => ({ kind: id.split(':')[0], messages: times.length }))
    return { user: await userBehind(asked), full_limits }
  },

  async email_unproven(asked) {
    const id = asked.callerId('user')
    const user = id === undefined ? await likelyUser(asked) : await asked.tx.get(users, id)
    const { email, email_verified_at, made_by } = user ?? {}
    const maker = made_by == null ? undefined : `account:${made_by}`
    return { user: user?.id, email, email_verified_at, made_by, maker, fix: await signInFirst(asked, user) }
  },

  async email_taken(asked) {
    const email = asked.sentText('email') ?? ''
    const user = await userByEmail(asked.tx, normalEmail(email))
    const other = email.replace('@', `+${asked.entry.id.slice(-8).toLowerCase()}@`)
    return {
      ...{ email, user: user?.id, owner: user && `user:${user.id}`, created_at: user && timeText(user.created_at) },
      maker: user?.made_by == null ? null : `account:${user.made_by}`,
      fix: asked.corrected({ body: { email: other } }),
    }
  },

  account_creation_refused({ service: { accountCreation } }) {
    const example = { method: 'POST', path: '/_sandbox/seed', body: { accounts: [{ name: 'Shop' }] } }
    return { accountCreation, fix: { operation_id: 'seedSandbox', example, next: null } }
  },
} satisfies Explainers

const TRIES = 5

const kindOf = ({ entry }: RefusedRequest): 'account' | 'user' => (entry.path.includes('/user/') ? 'user' : 'account')

/** The operation takes another credential. */
async function needsCredential(asked: RefusedRequest) {
  return { scheme: asked.schemeOf(), fix: await credentialFirst(asked) }
}

/** Tokens come from client credentials of an account or a user. */
async function needsTokenOfKind(asked: RefusedRequest) {
  const kind = kindOf(asked)
  const id = kind === 'account' ? await likelyAccount(asked) : (await likelyUser(asked))?.id
  return {
    ...{ scheme: asked.schemeOf(), schemes: ['Basic', 'Bearer'], owner: id === undefined ? null : `${kind}:${id}` },
    client_id: id === undefined ? null : await clientIdOf(asked, kind, id),
    fix: await tokenOnly(asked, kind, id),
  }
}

/** Gets a token, in place of the refused request. */
async function tokenOnly(asked: RefusedRequest, kind: 'account' | 'user', id: number | undefined): Promise<Fix> {
  const fix = await tokenFirst(asked, kind, id)
  return id === undefined ? fix : { ...fix, next: null }
}

/** Tokens that had ended in the day before. A refused one may be among them. */
async function endedTokens({ tx, at, operation }: RefusedRequest) {
  const rows = await tx.find(tokens, { index: 'byEnd', prefix: [], limit: 50, reverse: true })
  const isLikely = (end: number, kind: 'account' | 'user') =>
    end <= at && end > at - 86_400_000 && operation?.auth.includes(kind)
  const ended = rows.filter(({ access_expires_at, owner_kind }) => isLikely(access_expires_at, owner_kind))
  return ended.slice(0, 3).map(({ owner_kind, owner_id, access_expires_at }) => ({
    owner: `${owner_kind}:${owner_id}`,
    ended_at: timeText(access_expires_at),
  }))
}

/** The codes that were mailed to the address of a request, the newest first. */
async function codesOf(asked: RefusedRequest) {
  const email = normalEmail(asked.sentText('email') ?? '')
  const codes = await asked.tx.find(signInCodes, { index: 'byEmail', prefix: [email], limit: 20, reverse: true })
  return { email, codes, last: codes[0] }
}

/** The code in the last mail to an address, which the outbox of the sandbox shows too. */
async function mailedCode({ tx }: RefusedRequest, email: string): Promise<string | undefined> {
  const mails = await tx.find(outbox, { index: 'byToAndKind', prefix: [email, 'mail'], limit: 5, reverse: true })
  return mails.flatMap(codesIn)[0]
}

/** Asks for a new code, which the outbox shows, and then verifies it in the session that asked. */
const newCodeFirst = (asked: RefusedRequest, email: string): Fix =>
  asked.first(
    'sendSessionCode',
    { method: 'POST', path: '/v4/session/code', body: { email } },
    asked.again({ headers: { 'x-session-id': '{x-session-id}' } }),
  )
