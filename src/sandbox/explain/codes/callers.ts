import { accounts } from '../../../identity/accounts/account.js'
import { sessions } from '../../../identity/sessions/session.js'
import { clientFailures, clients } from '../../../identity/tokens/client.js'
import { tokens } from '../../../identity/tokens/token.js'
import { attemptsOf } from '../../../jobs/rates/rate.js'
import {
  clientIdOf,
  credentialFirst,
  likelyAccount,
  likelyUser,
  signInFirst,
  takes,
  tokenFirst,
} from '../facts/credentials.js'
import type { Explainers } from '../facts/explainer.js'
import { callingConnection } from '../facts/price.js'
import {
  callerId,
  corrected,
  first,
  later,
  type RefusedRequest,
  responseText,
  schemeOf,
  sentText,
} from '../facts/refused-request.js'
import { endText, listText, ownerText, plural, timeText } from '../facts/words.js'

/** Who calls, and by what credential. */
export const callerExplainers = {
  async authorization_missing(asked) {
    return {
      sentences: [
        `The request had no Authorization header${hasSession(asked) ? '' : ' and no session'}. ${asked.entry.operation_id ?? 'The operation'} takes ${listText(takes(asked))}.`,
      ],
      facts: { sent: credentialsIn(asked), accepted: asked.operation?.auth ?? [] },
      fix: await credentialFirst(asked),
    }
  },

  async credentials_missing(asked) {
    const kind = kindOf(asked)
    const id = kind === 'account' ? await likelyAccount(asked) : (await likelyUser(asked))?.id
    const clientId = id === undefined ? undefined : await clientIdOf(asked, kind, id)
    return {
      sentences: [
        'The request had no Authorization header, so the service does not know for whom to make a token.',
        ...(clientId === undefined
          ? []
          : [`${kind}:${id} has the client id ${clientId}. Send it with its secret as Basic credentials.`]),
      ],
      facts: { owner: id === undefined ? null : `${kind}:${id}`, client_id: clientId ?? null },
      fix:
        id === undefined
          ? first(asked, 'createAccount', { method: 'POST', path: '/v4/account', body: {} })
          : { ...(await tokenFirst(asked, kind, id)), next: null },
    }
  },

  async scheme_refused(asked) {
    const kind = kindOf(asked)
    const id = kind === 'account' ? await likelyAccount(asked) : (await likelyUser(asked))?.id
    return {
      sentences: [
        `${asked.entry.path} takes Basic with client credentials, or Bearer with a refresh token. The request sent ${schemeOf(asked) === null ? 'no scheme' : `the scheme ${schemeOf(asked)}`}.`,
      ],
      facts: {
        scheme: schemeOf(asked),
        schemes: ['Basic', 'Bearer'],
        owner: id === undefined ? null : `${kind}:${id}`,
      },
      fix: { ...(await tokenFirst(asked, kind, id)), next: null },
    }
  },

  async client_unknown(asked) {
    const kind = kindOf(asked)
    const [, id] = /^client:(.+)$/.exec(asked.entry.principal ?? '') ?? []
    const client = id === undefined ? undefined : await asked.tx.get(clients, id)
    const found = await asked.tx.find(clients, { index: 'byOwner', prefix: [kind], limit: 5, reverse: true })
    const [known] = client?.deleted_at === null ? [client] : found.filter(({ deleted_at }) => deleted_at === null)
    return {
      sentences: [
        await aboutClient(asked, id, client),
        ...(known && known.id !== id
          ? [
              `The newest client id of its kind was ${known.id}, of ${await ownerText(asked.tx, `${kind}:${known.owner_id}`)}.`,
            ]
          : []),
      ],
      facts: {
        client_id: id ?? null,
        owner: client ? `${client.owner_kind}:${client.owner_id}` : null,
        revoked_at: client?.deleted_at == null ? null : timeText(client.deleted_at),
        client_ids: found.filter(({ deleted_at }) => deleted_at === null).map((row) => row.id),
      },
      fix: known
        ? { ...(await tokenFirst(asked, kind, known.owner_id)), next: null }
        : first(asked, 'createAccount', { method: 'POST', path: '/v4/account', body: {} }),
    }
  },

  async token_invalid(asked) {
    const ended = await endedTokens(asked)
    return {
      sentences: [
        ended.length === 0
          ? 'No access token had ended in the day before, so the token is of another service, was revoked, or is from before a reset.'
          : `${listText(await Promise.all(ended.map(async ({ owner, ended_at }) => `A token of ${await ownerText(asked.tx, owner)} had ended at ${ended_at}`)))}.`,
        'Access tokens of accounts and users last an hour.',
      ],
      facts: { ended, accepted: asked.operation?.auth ?? [] },
      fix: await credentialFirst(asked),
    }
  },

  async refresh_token_invalid(asked) {
    const kind = kindOf(asked)
    const id = kind === 'account' ? await likelyAccount(asked) : (await likelyUser(asked))?.id
    const rows = await asked.tx.find(tokens, { index: 'byEnd', prefix: [], limit: 20, reverse: true })
    const used = rows.filter(({ owner_kind, refresh_digest }) => owner_kind === kind && refresh_digest === null)
    return {
      sentences: [
        used.length > 0
          ? `At that moment, ${plural(used.length, 'refresh token')} of this kind had been used. Each works once.`
          : 'At that moment, no refresh token of this kind had been used, so this one was never issued here, or is older than 24 hours.',
        'Get a new pair with the client credentials.',
      ],
      facts: { used: used.length, owner: id === undefined ? null : `${kind}:${id}` },
      fix: { ...(await tokenFirst(asked, kind, id)), next: null },
    }
  },

  async agent_token_required(asked) {
    return {
      sentences: [
        `${await callerText(asked)} called, with a valid token. ${asked.entry.operation_id} takes ${listText(takes(asked))}.`,
        'Register an app with POST /v4/oidc/reg, let a user connect it at /v4/oidc/auth, and exchange its code at POST /v4/oidc/token.',
      ],
      facts: { principal: asked.entry.principal, accepted: asked.operation?.auth ?? [] },
    }
  },

  async bearer_required(asked) {
    return {
      sentences: [
        `The Authorization header had no Bearer token${schemeOf(asked) === null ? '' : `: the request sent the scheme ${schemeOf(asked)}`}. ${asked.entry.operation_id} takes ${listText(takes(asked))}.`,
      ],
      facts: { sent: credentialsIn(asked), scheme: schemeOf(asked), accepted: asked.operation?.auth ?? [] },
      fix: await credentialFirst(asked),
    }
  },

  async public_secret_unknown(asked) {
    const known = await asked.tx.find(accounts, { index: 'id', prefix: [], limit: 5, reverse: true })
    const [account] = known
    const change = { public_secret: account?.public_secret }
    return {
      sentences: [
        `${known.length === 0 ? 'There was no account' : `The ${known.length} newest accounts were ${listText(await Promise.all(known.map(({ id }) => ownerText(asked.tx, `account:${id}`))))}, and none has this secret`}.`,
      ],
      facts: { public_secrets: known.map(({ id, public_secret }) => ({ account: id, public_secret })) },
      fix: account && corrected(asked, 'public_secret' in asked.query ? { query: change } : { body: change }),
    }
  },

  async session_conflict(asked) {
    return {
      sentences: [
        'The header X-Session-ID and the cookie session_id named different sessions. The header alone is enough.',
      ],
      facts: { sent: credentialsIn(asked) },
      fix: corrected(asked, { headers: { cookie: '' } }),
    }
  },

  async sign_in_required(asked) {
    const user = await likelyUser(asked)
    const [last] = await asked.tx.find(sessions, { index: 'id', prefix: [], limit: 1, reverse: true })
    return {
      sentences: [
        `${hasSession(asked) ? 'The request came with a session in which nobody was signed in' : 'The request came without a session'}.`,
        ...(last
          ? [
              `The newest session was of ${await ownerText(asked.tx, `user:${last.user_id}`)} and ${endText(last.expires_at, asked.at)}.`,
            ]
          : ['Nobody was signed in anywhere.']),
      ],
      facts: {
        sent: credentialsIn(asked),
        newest_session: last && { user: last.user_id, expires_at: last.expires_at },
      },
      fix: await signInFirst(asked, user),
    }
  },

  async page_refused(asked) {
    const found = await asked.tx.find(sessions, { index: 'id', prefix: [], limit: 100, reverse: true })
    const origins = [...new Set(found.flatMap(({ page }) => (page ? [page.origin] : [])))]
    const [origin] = origins
    const from = asked.entry.request.headers.origin ?? null
    return {
      sentences: [`The request came from ${from ?? 'no origin'}. The sessions of pages were for ${listText(origins)}.`],
      facts: { origin: from, origins },
      fix: origin === undefined ? undefined : corrected(asked, { headers: { origin } }),
    }
  },

  async wrong_principal(asked) {
    return {
      sentences: [`${await callerText(asked)} called. ${asked.entry.operation_id} takes ${listText(takes(asked))}.`],
      facts: { principal: asked.entry.principal, accepted: asked.operation?.auth ?? [] },
      fix: await credentialFirst(asked),
    }
  },

  async not_an_account(asked) {
    const account = await likelyAccount(asked)
    return {
      sentences: [
        `${await callerText(asked)} called, and only an account may do this.`,
        ...(account === undefined ? [] : [`Call as ${await ownerText(asked.tx, `account:${account}`)}.`]),
      ],
      facts: { principal: asked.entry.principal, account: account ?? null },
      fix: await tokenFirst(asked, 'account', account),
    }
  },

  async cross_site(asked) {
    const origin = asked.entry.request.headers.origin ?? null
    return {
      sentences: [
        `The request came from ${origin ?? 'a page that names no origin'} with only the session cookie. Send the session as X-Session-ID.`,
      ],
      facts: { origin, base_url: asked.service.baseUrl },
      fix: corrected(asked, { headers: { 'x-session-id': '[redacted]', cookie: '' } }),
    }
  },

  async insufficient_scope(asked) {
    const connection = await callingConnection(asked)
    const needed = asked.operation?.agentScope ?? 'twin'
    const granted = connection?.scopes ?? []
    const by = connection ? await ownerText(asked.tx, `user:${connection.user_id}`) : 'The user'
    const parameters = new URLSearchParams({
      response_type: 'code',
      ...(connection && { client_id: connection.client_id }),
      scope: [...new Set([...granted, 'openid', needed])].join(' '),
    })
    return {
      sentences: [
        `${asked.entry.operation_id} needs the scope \`${needed}\`. ${by} granted ${granted.length === 0 ? 'none that the journal shows' : listText(granted.map((scope) => `\`${scope}\``))}.`,
        `Send the user to /v4/oidc/auth?${parameters} with your redirect URI, and exchange the new code for a token.`,
      ],
      facts: { needed, granted, client_id: connection?.client_id ?? null, user: connection?.user_id ?? null },
    }
  },

  async too_many_failures(asked) {
    const wait = Number(asked.entry.response.headers['retry-after'] ?? 60)
    const [, id] = /^client:(.+)$/.exec(asked.entry.principal ?? '') ?? []
    const clientId = sentText(asked, 'client_id') ?? id
    const counted = { subject: clientId ?? '', at: asked.at }
    const wrong = await attemptsOf(asked.tx, clientFailures, counted)
    const client = clientId === undefined ? undefined : await asked.tx.get(clients, clientId)
    return {
      sentences: [
        `${plural(wrong, 'wrong secret')} came for ${clientId ?? 'the client id'} within a minute, and this one was wrong too.`,
        `The right secret is accepted at once. Another wrong one is checked after ${wait} seconds.`,
      ],
      facts: { client_id: clientId ?? null, wrong, retry_after: wait },
      fix: client
        ? { ...(await tokenFirst(asked, client.owner_kind, client.owner_id)), next: null }
        : later(asked, wait),
    }
  },
} satisfies Explainers

const kindOf = ({ entry }: RefusedRequest): 'account' | 'user' => (entry.path.includes('/user/') ? 'user' : 'account')

/** Whether a client id was unknown, revoked, of another kind, or sent with a wrong secret. */
async function aboutClient(
  asked: RefusedRequest,
  id: string | undefined,
  client: { owner_kind: 'account' | 'user'; owner_id: number; deleted_at: number | null } | undefined,
): Promise<string> {
  if (id === undefined) return 'The Basic credentials are no base64 of an id, a colon and a secret.'
  if (!client) return `No client had the id ${id} at that moment.`
  const owner = await ownerText(asked.tx, `${client.owner_kind}:${client.owner_id}`)
  if (client.deleted_at !== null) return `The client ${id} of ${owner} was revoked at ${timeText(client.deleted_at)}.`
  if (client.owner_kind !== kindOf(asked))
    return `The client ${id} is of ${owner}, and ${asked.entry.path} is for another kind.`
  return `The client ${id} is of ${owner}, so its secret was wrong.`
}

const hasSession = ({ entry: { request } }: RefusedRequest): boolean =>
  'x-session-id' in request.headers || 'cookie' in request.headers

/** The names of the headers with which the request said who calls. */
const credentialsIn = ({ entry: { request } }: RefusedRequest): string[] =>
  ['authorization', 'x-session-id', 'cookie', 'x-device-token'].filter((name) => name in request.headers)

async function callerText(asked: RefusedRequest): Promise<string> {
  const { principal } = asked.entry
  const [, said] = /It is the token of (a user|an account)/.exec(responseText(asked, 'error') ?? '') ?? []
  if (principal === null) return said ?? 'Someone whom the journal does not name'
  const agent = callerId(asked, 'agent')
  return agent === undefined ? ownerText(asked.tx, principal) : `The app of connection ${agent}`
}

/** Tokens that had ended in the day before. A refused one may be among them. */
async function endedTokens({ tx, at, operation }: RefusedRequest) {
  const rows = await tx.find(tokens, { index: 'byEnd', prefix: [], limit: 50, reverse: true })
  return rows
    .filter(
      ({ access_expires_at, owner_kind }) =>
        access_expires_at <= at && access_expires_at > at - 86_400_000 && operation?.auth.includes(owner_kind),
    )
    .slice(0, 3)
    .map(({ owner_kind, owner_id, access_expires_at }) => ({
      owner: `${owner_kind}:${owner_id}`,
      ended_at: timeText(access_expires_at),
    }))
}
