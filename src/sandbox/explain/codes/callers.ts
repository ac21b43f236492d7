import { normalEmail } from '../../../base/text/email.js'
import { parsedUrl } from '../../../base/text/foreign-url.js'
import { oidcInteractions } from '../../../consent/oidc/browser/interaction-row.js'
import { clientById } from '../../../consent/oidc/clients/client.js'
import { isRedirectUri } from '../../../consent/oidc/clients/redirect-uri.js'
import { oidcCodes, oidcTokens } from '../../../consent/oidc/token.js'
import { accounts } from '../../../identity/accounts/account.js'
import { sessions } from '../../../identity/sessions/session.js'
import { codesOfNetwork, signInCodes, wrongCodes } from '../../../identity/sessions/sign-in-code.js'
import { clientFailures, clients, tokens } from '../../../identity/tokens/token.js'
import { networkAt, userByEmail, users } from '../../../identity/users/user.js'
import { codesIn, outbox } from '../../../jobs/outbox/outbox.js'
import { attemptsOf, rates } from '../../../jobs/rates/rate.js'
import {
  createAccountFirst,
  credentialFirst,
  likelyAccount,
  likelyUser,
  signInFirst,
  tokenFirst,
} from '../facts/credentials.js'
import type { Fix } from '../facts/explanation.js'
import { callingConnection, userBehind } from '../facts/price.js'
import { type Explainers, REDACTED, type RefusedRequest } from '../facts/refused-request.js'
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
    const { id, client } = await callingClient(asked)
    const valid = (await asked.newest(clients, 'byOwner', [kind], 5)).filter(({ deleted_at }) => deleted_at === null)
    const known = client?.deleted_at === null ? client : valid[0]
    return {
      ...{ client_id: id, owner: client && `${client.owner_kind}:${client.owner_id}`, revoked_at: client?.deleted_at },
      ...{ other_kind: client && client.owner_kind !== kind, newest: known?.id === id ? undefined : known?.id },
      client_ids: valid.map((row) => row.id),
      fix: known ? tokenFirst(asked, kind, known.owner_id, null) : createAccountFirst(asked),
    }
  },
  async token_invalid(asked) {
    // Those that ended in the day before. The refused one may be among them.
    const ended = (await asked.newest(tokens, 'byEnd', []))
      .filter(({ owner_kind }) => asked.operation?.auth.includes(owner_kind))
      .filter(({ access_expires_at: end }) => end <= asked.at && end > asked.at - 86_400_000)
      .map((row) => ({ owner: `${row.owner_kind}:${row.owner_id}`, ended_at: timeText(row.access_expires_at) }))
    return { ...(await needsCredential(asked)), ended: ended.slice(0, 3) }
  },
  async refresh_token_invalid(asked) {
    const rows = (await asked.newest(tokens, 'byEnd', [], 20)).filter(({ owner_kind }) => owner_kind === kindOf(asked))
    const used = rows.filter(({ refresh_digest }) => refresh_digest === null).length
    return { ...(await needsTokenOfKind(asked)), used }
  },
  async public_secret_unknown(asked) {
    const known = await asked.newest(accounts, 'id', [], 5)
    return {
      accounts: known.map(({ id }) => `account:${id}`),
      public_secrets: known.map(({ id, public_secret }) => ({ account: id, public_secret })),
      fix: known[0] && asked.corrected(asked.withParameter('public_secret', known[0].public_secret)),
    }
  },
  async sign_in_required(asked) {
    const [last] = await asked.newest(sessions, 'id', [], 1)
    const newest_session = last && { user: last.user_id, expires_at: last.expires_at }
    const owner = last && `user:${last.user_id}`
    return { owner, session_ends_at: last?.expires_at, newest_session, fix: await signInFirst(asked) }
  },
  async page_refused(asked) {
    const found = await asked.newest(sessions, 'id', [], 100)
    const origins = [...new Set(found.flatMap(({ page }) => (page ? [page.origin] : [])))]
    const [origin] = origins
    const fix = origin && asked.corrected({ headers: { origin } })
    return { origin: asked.entry.request.headers.origin, origins, fix }
  },
  async not_an_account(asked) {
    const account = await likelyAccount(asked)
    return { account, owner: account && `account:${account}`, fix: tokenFirst(asked, 'account', account) }
  },
  async insufficient_scope(asked) {
    const { client_id, user_id: user, scopes: granted = [] } = (await callingConnection(asked)) ?? {}
    const needed = asked.operation?.agentScope ?? 'twin'
    const scope = [...new Set([...granted, 'openid', needed])].join(' ')
    const parameters = { response_type: 'code', ...(client_id !== undefined && { client_id }), scope }
    const authorize = `/v4/oidc/auth?${new URLSearchParams(parameters)}`
    return { needed, granted, client_id, user, owner: user && `user:${user}`, authorize }
  },
  async too_many_failures(asked) {
    const { id, client } = await callingClient(asked, asked.sentText('client_id'))
    const wrong = await attemptsOf(asked.tx, clientFailures, { subject: id ?? '', at: asked.at })
    const wait = Number(asked.entry.response.headers['retry-after'] ?? 60)
    const fix = client ? tokenFirst(asked, client.owner_kind, client.owner_id, null) : asked.later(wait)
    return { client_id: id, wrong, fix }
  },
  async session_required(asked) {
    const { email, codes, fix } = await codesOf(asked)
    return { email, codes: codes.length, mailed_at: codes[0]?.created_at ?? 0, fix }
  },
  async code_wrong(asked) {
    const { email, last, fix } = await codesOf(asked)
    // The outbox of the sandbox shows it too.
    const [code] = (await asked.newest(outbox, 'byToAndKind', [email, 'mail'], 5)).flatMap(codesIn)
    return {
      ...{ email, outbox_code: code, mailed_at: last?.created_at, expires_at: last?.expires_at },
      ...(last && { tries: last.tries, tries_left: TRIES - last.tries, most: TRIES }),
      fix: code === undefined ? fix : asked.withFields({ code }),
    }
  },
  async code_expired(asked) {
    const { email, last, fix } = await codesOf(asked)
    return { email, used: last?.used, expires_at: last?.expires_at, mailed_at: last?.created_at, fix }
  },
  async too_many_tries(asked) {
    const { email, last, fix } = await codesOf(asked)
    const wrong = await attemptsOf(asked.tx, wrongCodes, { subject: email, at: asked.at })
    // Only the limit of the day refuses to mail a code, however often the last one was tried.
    const isOfCode = asked.sent('code') !== undefined && (last?.tries ?? 0) >= TRIES
    if (!isOfCode && wrong >= wrongCodes.most) return { email, wrong, most: wrongCodes.most }
    return { email, tries: last?.tries ?? TRIES, most: TRIES, fix }
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
    const counted = await asked.newest(rates, 'byEnd', [])
    const limits = counted.map(({ id, times }) => ({ kind: id.split(':')[0], messages: times.length }))
    return { user: await userBehind(asked), full_limits: limits.filter(({ messages }) => messages >= 5) }
  },
  async email_unproven(asked) {
    const user = (await asked.get(users, asked.callerId('user'))) ?? (await likelyUser(asked))
    const { email, email_verified_at, made_by } = user ?? {}
    const maker = made_by && `account:${made_by}`
    return { user: user?.id, email, email_verified_at, made_by, maker, fix: await signInFirst(asked, user) }
  },
  async email_taken(asked) {
    const email = asked.sentText('email') ?? ''
    const { id, created_at, made_by } = (await userByEmail(asked.tx, normalEmail(email))) ?? {}
    const other = email.replace('@', `+${asked.entry.id.slice(-8).toLowerCase()}@`)
    const [owner, maker] = [id && `user:${id}`, made_by && `account:${made_by}`]
    return { email, user: id, owner, created_at, maker, fix: asked.withFields({ email: other }) }
  },
  account_creation_refused: (asked) => ({
    accountCreation: asked.service.accountCreation,
    fix: asked.first('POST /_sandbox/seed', { body: { accounts: [{ name: 'Shop' }] }, next: null }),
  }),
  // OpenID Connect: apps, their codes and their tokens.
  async invalid_request(asked) {
    const client_id = asked.sentText('client_id')
    const client = await clientIn(asked)
    const redirect_uri = asked.sentText('redirect_uri')
    const redirect_uris = client?.metadata.redirect_uris ?? []
    const other_redirect = redirect_uri !== undefined && client !== undefined && !redirect_uris.includes(redirect_uri)
    const facts = { client_id, registered: client !== undefined, redirect_uri, redirect_uris, other_redirect }
    const sent_names = Object.keys({ ...asked.query, ...asked.body })
    // The next request uses the id of the new client.
    const register = {
      body: { redirect_uris: [redirect_uri ?? LOOPBACK], token_endpoint_auth_method: 'none' },
      next: asked.again(asked.withParameter('client_id', '{client_id}')),
    }
    const fix = other_redirect
      ? asked.corrected(asked.withParameter('redirect_uri', redirect_uris[0]))
      : client_id && !client && asked.first('POST /v4/oidc/reg', register)
    return { ...facts, sent_names, fix }
  },
  async invalid_grant(asked) {
    const client = await clientIn(asked)
    const isOwn = ({ client_id }: { readonly client_id: string }) => client_id === client?.id
    const code = (await asked.newest(oidcCodes, 'byExpiry', [])).find(isOwn)
    const used = (await asked.newest(oidcTokens, 'byEnd', [])).filter((token) => isOwn(token) && token.refresh_used)
    const { grant_type } = asked.body
    const refreshed = grant_type === 'refresh_token'
    const redirect = asked.sentText('redirect_uri')
    const isOpen = code !== undefined && code.family_id === null && code.expires_at > asked.at && !refreshed
    const other_redirect = isOpen && redirect !== code.redirect_uri ? (redirect ?? 'no redirect URI') : undefined
    const parameters = new URLSearchParams({
      ...{ response_type: 'code', client_id: client?.id ?? '', redirect_uri: client?.metadata.redirect_uris[0] ?? '' },
      ...{ scope: 'openid twin', code_challenge: '{code_challenge}', code_challenge_method: 'S256' },
    })
    return {
      ...{ grant_type, client_id: client?.id, refreshed, other_redirect, used_refresh_tokens: used.length },
      last_code: code && {
        ...{ exchanged: code.family_id !== null, expires_at: timeText(code.expires_at) },
        ...{ redirect_uri: code.redirect_uri, challenged: isOpen && code.code_challenge !== null },
      },
      // The page at which the user connects the client.
      authorize: client ? `/v4/oidc/auth?${parameters}` : '/v4/oidc/auth',
      fix: other_redirect && asked.corrected(asked.withParameter('redirect_uri', code?.redirect_uri)),
    }
  },
  async unauthorized_client(asked) {
    const client = await clientIn(asked)
    return { client_id: client?.id, grant_types: client?.metadata.grant_types, wanted: asked.body.grant_type }
  },
  unsupported_grant_type(asked) {
    const grant_type = 'refresh_token' in asked.body ? 'refresh_token' : 'authorization_code'
    const supported = ['authorization_code', 'refresh_token']
    return { grant_type: asked.sent('grant_type'), supported, fix: asked.withFields({ grant_type }) }
  },
  async invalid_scope(asked) {
    const tokens = await asked.newest(oidcTokens, 'byEnd', [])
    const granted = tokens.find(({ client_id }) => client_id === asked.sentText('client_id'))?.scopes ?? []
    return { scope: asked.sent('scope'), granted, fix: asked.withFields({ scope: undefined }) }
  },
  invalid_target(asked) {
    const { baseUrl } = asked.service
    const fix = asked.corrected(asked.withParameter('resource', undefined))
    return { resource: asked.sent('resource'), resources: [baseUrl, `${baseUrl}/mcp`], fix }
  },
  invalid_redirect_uri(asked) {
    const redirect_uris = Array.isArray(asked.body.redirect_uris) ? asked.body.redirect_uris.map(String) : []
    const wrong = redirect_uris.filter((uri) => !isRedirectUri(uri))
    const right = redirect_uris.map((uri) => (wrong.includes(uri) ? LOOPBACK : uri))
    const uris = right.length === 0 ? [LOOPBACK] : [...new Set(right)].slice(0, 32)
    return { redirect_uris, wrong, fix: asked.withFields({ redirect_uris: uris }) }
  },
  invalid_client_metadata(asked) {
    const { fields: refused } = asked.facts
    const fields = Array.isArray(refused) ? refused.map(String).filter((name) => name in asked.body) : []
    const without = Object.fromEntries(fields.map((name) => [name, undefined]))
    const values = fields.map((name) => `\`${name}\`: ${JSON.stringify(asked.body[name])}`)
    return { fields, sent: asked.body, values, fix: fields.length > 0 && asked.withFields(without) }
  },
  async invalid_client(asked) {
    const client = await clientIn(asked)
    const isPublic = client?.secret_digest === null
    const facts = { client_id: asked.sentText('client_id'), registered: client !== undefined, public: isPublic }
    const client_secret = isPublic ? undefined : REDACTED
    const fix = client && 'client_secret' in asked.body && asked.withFields({ client_secret })
    return { ...facts, method: client?.metadata.token_endpoint_auth_method, fix }
  },
  async interaction_expired(asked) {
    const { id = '' } = asked.params
    const row = await asked.tx.get(oidcInteractions, id)
    const page = `/oidc/interaction/${id}`
    const begun = await asked.findEarlier(({ response }) => response.headers.location?.includes(page) ?? false)
    const isBegun = begun?.operation_id === 'authorizeOidc'
    return {
      client_id: row?.request.client_id ?? new URLSearchParams(begun?.path.split('?')[1]).get('client_id'),
      ...{ begun_by: begun?.id, begun_at: begun && Date.parse(begun.at), expires_at: row?.expires_at },
      ...(isBegun && { fix: asked.instead(`GET ${begun.path}`, { as: null }) }),
    }
  },
  too_many_fetches(asked) {
    const client_id = asked.sentText('client_id')
    return { client_id, host: client_id && parsedUrl(client_id)?.hostname, most: 20 }
  },
} satisfies Explainers

const TRIES = 5
const kindOf = ({ entry }: RefusedRequest): 'account' | 'user' => (entry.path.includes('/user/') ? 'user' : 'account')
const schemeOf = ({ entry }: RefusedRequest) => /^(\S+) /.exec(entry.request.headers.authorization ?? '')?.[1] ?? null

async function needsCredential(asked: RefusedRequest) {
  return { scheme: schemeOf(asked), fix: await credentialFirst(asked) }
}

async function needsTokenOfKind(asked: RefusedRequest) {
  const kind = kindOf(asked)
  const id = kind === 'account' ? await likelyAccount(asked) : (await likelyUser(asked))?.id
  const found = id === undefined ? [] : await asked.newest(clients, 'byOwner', [kind, id], 10)
  return {
    ...{ scheme: schemeOf(asked), schemes: ['Basic', 'Bearer'], owner: id && `${kind}:${id}` },
    // The id is public, unlike the secret.
    client_id: found.find(({ deleted_at }) => deleted_at === null)?.id,
    fix: tokenFirst(asked, kind, id, null),
  }
}

async function callingClient(asked: RefusedRequest, named?: string) {
  const id = named ?? /^client:(.+)$/.exec(asked.entry.principal ?? '')?.[1]
  return { id, client: await asked.get(clients, id) }
}

/**
 * The codes that were mailed to the address of a request, the newest first. `fix`: asks for a new code, which the outbox
 * shows, and then verifies it in the session that asked.
 */
async function codesOf(asked: RefusedRequest) {
  const email = normalEmail(asked.sentText('email') ?? '')
  const codes = await asked.newest(signInCodes, 'byEmail', [email], 20)
  const next = asked.again({ headers: { 'x-session-id': '{x-session-id}' } })
  const fix: Fix = asked.first('POST /v4/session/code', { body: { email }, next })
  return { email, codes, last: codes[0], fix }
}

const LOOPBACK = 'http://localhost/callback'

async function clientIn(asked: RefusedRequest) {
  const id = asked.sentText('client_id')
  return id === undefined ? undefined : clientById(asked.tx, id)
}
