import { parsedUrl } from '../../../base/text/foreign-url.js'
import { oidcInteractions } from '../../../consent/oidc/browser/interaction-row.js'
import { clientById, type OidcClientRow } from '../../../consent/oidc/clients/client.js'
import { oidcCodes } from '../../../consent/oidc/code.js'
import { oidcTokens } from '../../../consent/oidc/token.js'
import type { Explainers } from '../facts/explainer.js'
import type { Fix } from '../facts/explanation.js'
import {
  again,
  askedWait,
  corrected,
  first,
  later,
  REDACTED,
  type RefusedRequest,
  responseText,
  sent,
  sentText,
} from '../facts/refused-request.js'
import { endText, listText, named, timeText } from '../facts/words.js'

/** OpenID Connect: apps, their codes and their tokens. */
export const oauthExplainers = {
  async invalid_request(asked) {
    const client = await clientIn(asked)
    const id = sentText(asked, 'client_id')
    const redirect = sentText(asked, 'redirect_uri')
    const registered = client?.metadata.redirect_uris ?? []
    const isWrongRedirect = redirect !== undefined && client !== undefined && !registered.includes(redirect)
    return {
      sentences: [
        id === undefined
          ? 'The request names no `client_id`.'
          : client
            ? `The client ${id} is registered.`
            : `No client ${id} was registered at that moment.`,
        ...(isWrongRedirect ? [`It registered ${listText(registered)}, and the request sent ${redirect}.`] : []),
        ...(id === undefined || isWrongRedirect || !client ? [] : [responseText(asked, 'error_description') ?? '']),
        `The request sent ${listText(Object.keys({ ...asked.query, ...asked.body }).map((name) => `\`${name}\``)) || 'no parameters'}.`,
      ],
      facts: {
        client_id: id ?? null,
        registered: client !== undefined,
        redirect_uri: redirect ?? null,
        redirect_uris: registered,
        sent: Object.keys({ ...asked.query, ...asked.body }),
      },
      fix: isWrongRedirect
        ? withParameter(asked, 'redirect_uri', registered[0])
        : id !== undefined && !client
          ? registerFirst(asked, redirect)
          : undefined,
    }
  },

  async invalid_grant(asked) {
    const client = await clientIn(asked)
    const codes = (await asked.tx.find(oidcCodes, { index: 'byExpiry', prefix: [], limit: 50, reverse: true })).filter(
      ({ client_id }) => client_id === client?.id,
    )
    const [code] = codes
    const tokens = (await asked.tx.find(oidcTokens, { index: 'byEnd', prefix: [], limit: 50, reverse: true })).filter(
      ({ client_id }) => client_id === client?.id,
    )
    const isRefresh = asked.body.grant_type === 'refresh_token'
    const used = tokens.filter(({ refresh_used }) => refresh_used).length
    const redirect = sentText(asked, 'redirect_uri')
    const isOpen = code !== undefined && code.family_id === null && code.expires_at > asked.at
    const isWrongRedirect = !isRefresh && isOpen && redirect !== code.redirect_uri
    return {
      sentences: [
        isRefresh
          ? `${named('client', client?.id)} had ${used} used refresh tokens at that moment. Each works once.`
          : code
            ? `The last code of the client ${client?.id} ${code.family_id === null ? endText(code.expires_at, asked.at) : 'had been exchanged'}. It is for ${code.redirect_uri}${code.code_challenge === null ? '' : ', with a code challenge'}.`
            : `${named('client', client?.id)} had no code at that moment.`,
        ...(isWrongRedirect ? [`The request sent ${redirect ?? 'no redirect_uri'}.`] : []),
        ...(isOpen && !isRefresh && code.code_challenge !== null
          ? ['Its `code_verifier` must be the text from which the challenge was made.']
          : []),
        isWrongRedirect
          ? 'Send the redirect URI of the code.'
          : `If the code or token is gone, send the user to ${client ? authorizePath(client) : '/v4/oidc/auth'} again.`,
      ],
      facts: {
        grant_type: asked.body.grant_type ?? null,
        client_id: client?.id ?? null,
        codes: codes.length,
        last_code: code
          ? {
              exchanged: code.family_id !== null,
              expires_at: timeText(code.expires_at),
              redirect_uri: code.redirect_uri,
            }
          : null,
        used_refresh_tokens: used,
      },
      fix: isWrongRedirect ? withParameter(asked, 'redirect_uri', code.redirect_uri) : undefined,
    }
  },

  async unauthorized_client(asked) {
    const client = await clientIn(asked)
    return {
      sentences: [
        `${named('client', client?.id)} registered ${client ? `the grants ${listText(client.metadata.grant_types)}` : 'other grants'}, and the request needs ${sentText(asked, 'grant_type') ?? 'another client'}.`,
        `A client changes its grants with PUT /v4/oidc/reg/${client?.id ?? '{client_id}'} and its registration token. Its users then connect it again.`,
      ],
      facts: {
        client_id: client?.id ?? null,
        grant_types: client?.metadata.grant_types ?? [],
        wanted: asked.body.grant_type ?? null,
      },
    }
  },

  async unsupported_grant_type(asked) {
    const grant_type = 'refresh_token' in asked.body ? 'refresh_token' : 'authorization_code'
    return {
      sentences: [
        `The request sent \`grant_type=${sent(asked, 'grant_type') ?? ''}\`. Accounts and users without an app use /v4/account/oauth/token or /v4/user/oauth/token.`,
      ],
      facts: { grant_type: sent(asked, 'grant_type') ?? null, supported: ['authorization_code', 'refresh_token'] },
      fix: corrected(asked, { body: { grant_type } }),
    }
  },

  async invalid_scope(asked) {
    const tokens = await asked.tx.find(oidcTokens, { index: 'byEnd', prefix: [], limit: 50, reverse: true })
    const granted = tokens.find(({ client_id }) => client_id === sentText(asked, 'client_id'))?.scopes ?? []
    return {
      sentences: [
        `The request sent the scope ${JSON.stringify(sent(asked, 'scope') ?? '')}. The user granted ${granted.length === 0 ? 'none that is known' : listText(granted)}.`,
      ],
      facts: { scope: sent(asked, 'scope') ?? null, granted },
      fix: corrected(asked, { body: { scope: undefined } }),
    }
  },

  async invalid_target(asked) {
    const { baseUrl } = asked.service
    return {
      sentences: [
        `The request names the resource ${JSON.stringify(sent(asked, 'resource') ?? '')}. This service is ${baseUrl}, and its MCP server is ${baseUrl}/mcp.`,
      ],
      facts: { resource: sent(asked, 'resource') ?? null, resources: [baseUrl, `${baseUrl}/mcp`] },
      fix: withParameter(asked, 'resource', undefined),
    }
  },

  async invalid_redirect_uri(asked) {
    const uris = Array.isArray(asked.body.redirect_uris) ? asked.body.redirect_uris.map(String) : []
    const loopback = uris.map((uri) => (isAllowed(uri) ? uri : 'http://localhost/callback'))
    const wrong = uris.filter((uri) => !isAllowed(uri))
    return {
      sentences: [
        wrong.length > 0
          ? `${listText(wrong)} cannot be registered.`
          : `${uris.length} redirect URIs were sent. One to 32 are possible.`,
        'Use https, http on localhost, or a scheme of the app.',
      ],
      facts: { redirect_uris: uris, wrong },
      fix: corrected(asked, {
        body: {
          redirect_uris: loopback.length === 0 ? ['http://localhost/callback'] : [...new Set(loopback)].slice(0, 32),
        },
      }),
    }
  },

  async invalid_client_metadata(asked) {
    const named = [...(responseText(asked, 'error_description') ?? '').matchAll(/`(\w+)`/g)].flatMap(([, name]) =>
      name !== undefined && name in asked.body ? [name] : [],
    )
    return {
      sentences: [
        named.length > 0
          ? `The request sent ${listText(named.map((name) => `\`${name}\`: ${JSON.stringify(asked.body[name])}`))}.`
          : `The request sent ${listText(Object.keys(asked.body).map((name) => `\`${name}\``))}.`,
        '/v4/oidc/.well-known/openid-configuration lists what is supported.',
      ],
      facts: { fields: named, sent: asked.body },
      fix:
        named.length > 0
          ? corrected(asked, { body: Object.fromEntries(named.map((name) => [name, undefined])) })
          : undefined,
    }
  },

  async invalid_client(asked) {
    const client = await clientIn(asked)
    const id = sentText(asked, 'client_id')
    const isPublic = client?.secret_digest === null
    return {
      sentences: [
        client
          ? `The client ${client.id} is ${isPublic ? 'public, so it sends no secret' : 'confidential, so it sends its secret'}. It registered \`${client.metadata.token_endpoint_auth_method}\`.`
          : id === undefined
            ? 'The credentials were in the Authorization header, which the journal does not keep.'
            : `No client ${id} was registered at that moment.`,
        isPublic
          ? 'Leave the secret out.'
          : client
            ? 'Send the secret that POST /v4/oidc/reg returned, in the way that the client registered.'
            : 'Register the client with POST /v4/oidc/reg, and let its users connect it.',
      ],
      facts: {
        client_id: id ?? null,
        registered: client !== undefined,
        public: isPublic,
        method: client?.metadata.token_endpoint_auth_method ?? null,
      },
      fix: isPublic
        ? corrected(asked, { body: { client_secret: undefined } })
        : client && 'client_secret' in asked.body
          ? corrected(asked, { body: { client_secret: REDACTED } })
          : undefined,
    }
  },

  async interaction_expired(asked) {
    const row = await asked.tx.get(oidcInteractions, asked.params.id ?? '')
    const begun = await asked.findEarlier(({ response }) =>
      (response.headers.location ?? '').includes(`/oidc/interaction/${asked.params.id}`),
    )
    const isAuthorization = begun?.operation_id === 'authorizeOidc'
    const clientId = row?.request.client_id ?? (begun && new URLSearchParams(begun.path.split('?')[1]).get('client_id'))
    return {
      sentences: [
        begun
          ? `The page for the app ${clientId} was opened at ${timeText(Date.parse(begun.at))} by ${begun.id}. It was answered since then, or is more than an hour old.`
          : 'The page was answered before, or is more than an hour old.',
        'Go back to the app, which starts again.',
      ],
      facts: {
        client_id: clientId ?? null,
        begun_by: begun?.id ?? null,
        begun_at: begun ? timeText(Date.parse(begun.at)) : null,
        expires_at: row ? timeText(row.expires_at) : null,
      },
      fix: isAuthorization
        ? { operation_id: 'authorizeOidc', example: { method: 'GET', path: begun.path }, next: null }
        : undefined,
    }
  },

  async too_many_fetches(asked) {
    const wait = askedWait(asked, 60)
    const id = sentText(asked, 'client_id')
    const host = (id !== undefined && parsedUrl(id)?.hostname) || null
    return {
      sentences: [
        `20 client documents were fetched from ${host ?? 'this host'} within a minute. The next one is possible after ${wait} seconds.`,
        'A client that registers itself with POST /v4/oidc/reg needs no document.',
      ],
      facts: { client_id: id ?? null, host, most: 20, retry_after: wait },
      fix: later(asked, wait),
    }
  },
} satisfies Explainers

async function clientIn(asked: RefusedRequest): Promise<OidcClientRow | undefined> {
  const id = sentText(asked, 'client_id')
  return id === undefined ? undefined : clientById(asked.tx, id)
}

const withParameter = (asked: RefusedRequest, name: string, value: string | undefined): Fix =>
  corrected(asked, name in asked.query ? { query: { [name]: value } } : { body: { [name]: value } })

/** Registers the client anew. The next request uses its id. */
const registerFirst = (asked: RefusedRequest, redirect: string | undefined): Fix =>
  first(
    asked,
    'registerOidcClient',
    {
      method: 'POST',
      path: '/v4/oidc/reg',
      body: { redirect_uris: [redirect ?? 'http://localhost/callback'], token_endpoint_auth_method: 'none' },
    },
    again(
      asked,
      'client_id' in asked.query ? { query: { client_id: '{client_id}' } } : { body: { client_id: '{client_id}' } },
    ),
  )

/** Opens the page at which the user connects the client. */
function authorizePath(client: OidcClientRow): string {
  const [redirect_uri = ''] = client.metadata.redirect_uris
  const parameters = new URLSearchParams({
    response_type: 'code',
    client_id: client.id,
    redirect_uri,
    scope: 'openid twin',
    code_challenge: '{code_challenge}',
    code_challenge_method: 'S256',
  })
  return `/v4/oidc/auth?${parameters}`
}

/** Whether a redirect URI may be registered, as far as its form says. */
function isAllowed(uri: string): boolean {
  const url = parsedUrl(uri)
  if (!url || uri.includes('#') || uri.includes('*') || uri.includes('..')) return false
  const { protocol, hostname, username } = url
  if (username !== '') return false
  return (
    protocol === 'https:' ||
    (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname)) ||
    protocol.includes('.')
  )
}
