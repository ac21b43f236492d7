import { parsedUrl } from '../../../base/text/foreign-url.js'
import { oidcInteractions } from '../../../consent/oidc/browser/interaction-row.js'
import { clientById } from '../../../consent/oidc/clients/client.js'
import { isRedirectUri } from '../../../consent/oidc/clients/redirect-uri.js'
import { oidcCodes, oidcTokens } from '../../../consent/oidc/token.js'
import { type Explainers, REDACTED, type RefusedRequest } from '../facts/refused-request.js'
import { timeText } from '../facts/words.js'

/** OpenID Connect: apps, their codes and their tokens. */
export const oauthExplainers = {
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

const LOOPBACK = 'http://localhost/callback'

async function clientIn(asked: RefusedRequest) {
  const id = asked.sentText('client_id')
  return id === undefined ? undefined : clientById(asked.tx, id)
}
