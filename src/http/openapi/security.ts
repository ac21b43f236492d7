import { type Evidence, isWeaker } from '../../base/evidence.js'
import { isWeakField } from '../fields/graded.js'
import type { Auth, Route } from '../route.js'
import type { DocumentPart } from './schemas.js'
import type { Descriptions } from './texts.js'

const one = (name: string, scopes: readonly string[] = []): DocumentPart => ({ [name]: scopes })
const nothing: DocumentPart = {}

/** The security requirements of an operation: any one of them is enough. */
export function securityOf(route: Route, descriptions: Descriptions, least: Evidence): DocumentPart[] {
  const own = descriptions.security(route.id)
  const found =
    own?.map((names) => Object.fromEntries(names.map((name) => [name, []]))) ??
    (route.scope === 'sandbox' ? controlSecurity(route) : route.auth.flatMap((kind) => schemesOf(kind, route, least)))
  const texts = new Set(found.map((requirement) => JSON.stringify(requirement)))
  return [...texts].map((text): DocumentPart => JSON.parse(text))
}

/** Callers on the sandbox's own machine need no token. */
const controlSecurity = ({ isOpen }: Route): DocumentPart[] =>
  isOpen ? [nothing] : [nothing, one('controlToken'), one('controlBearer')]

function schemesOf(kind: Auth, route: Route, least: Evidence): DocumentPart[] {
  switch (kind) {
    case 'none':
      return [nothing]
    case 'account':
    case 'user':
      return [one('accessToken')]
    case 'agent':
      return [one('agentToken', [route.agentScope ?? 'twin'])]
    case 'session':
      return [one('sessionHeader'), one('sessionCookie')]
    case 'page':
      return [one('sessionHeader')]
    case 'guest':
      return [one('sessionHeader'), one('sessionCookie'), nothing]
    case 'embed':
      return secretOf(route, least)
    case 'client':
      return [one('clientCredentials')]
    case 'refresh':
      return [one('refreshToken')]
  }
}

/** A publishable secret, which is a field in a body. Strict modes take it where the interface shows it. */
function secretOf({ method, query, body, queryInBody }: Route, least: Evidence): DocumentPart[] {
  if (!isWeaker('designed', least)) return [method === 'GET' ? one('publicSecret') : nothing]
  const field = (queryInBody ? query : body)?.shape.public_secret
  return field && !isWeakField(field, least) ? [nothing] : []
}

export const securitySchemes = (baseUrl: string): Record<string, DocumentPart> => ({
  accessToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token of an account or a user, from POST /v4/account/oauth/token. It lasts one hour.',
  },
  agentToken: {
    type: 'oauth2',
    description: 'The OpenID Connect access token of an app that a user connected.',
    flows: {
      authorizationCode: {
        authorizationUrl: `${baseUrl}/v4/oidc/auth`,
        tokenUrl: `${baseUrl}/v4/oidc/token`,
        refreshUrl: `${baseUrl}/v4/oidc/token`,
        scopes: {
          openid: 'Who the user is.',
          profile: "The user's name.",
          email: "The user's email address.",
          twin: "The user's twins, and what agents may do.",
          offline_access: 'A refresh token.',
        },
      },
    },
  },
  clientCredentials: {
    type: 'http',
    scheme: 'basic',
    description: '`client_id` as the user name and `client_secret` as the password.',
  },
  refreshToken: { type: 'http', scheme: 'bearer', description: 'A refresh token. Each works once, within 24 hours.' },
  registrationToken: {
    type: 'http',
    scheme: 'bearer',
    description: 'The `registration_access_token` from the registration of the app.',
  },
  publicSecret: {
    type: 'apiKey',
    in: 'query',
    name: 'public_secret',
    description: "An account's publishable secret. It is no secret, and only lets a page read what it shows.",
  },
  sessionHeader: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Session-ID',
    description: 'A session, as the last answer to it returned it in `X-Session-ID`.',
  },
  sessionCookie: {
    type: 'apiKey',
    in: 'cookie',
    name: 'session_id',
    description: "The same session as a cookie. It changes something only for requests from the service's own origin.",
  },
  controlToken: {
    type: 'apiKey',
    in: 'header',
    name: 'X-Control-Token',
    description: 'The control token that the sandbox prints when it starts. Its own machine needs none.',
  },
  controlBearer: { type: 'http', scheme: 'bearer', description: 'The control token, as a Bearer token.' },
})
