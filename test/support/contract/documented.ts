type Named = readonly (readonly [method: string, path: string])[]

/** The operations that the documentation of the interface shows (sections 4.1 to 4.8), and the standard ones of section 1. */
export const documented: Named = [
  // 4.1 Accounts and tokens
  ['POST', '/v4/account'],
  ['GET', '/v4/account'],
  ['PUT', '/v4/account'],
  ['POST', '/v4/account/oauth/token'],
  ['POST', '/v4/user/oauth/token'],
  ['POST', '/v4/account/register'],
  // 4.2 Users
  ['POST', '/v4/user'],
  ['GET', '/v4/user/{user_id}'],
  // 4.3 Digital quantities
  ['GET', '/v4/dq'],
  // 4.4 Twins
  ['POST', '/v4/twin/'],
  ['GET', '/v4/twin/{hostname}'],
  ['GET', '/v4/twins'],
  ['GET', '/v4/twin/{hostname}/binder'],
  // 4.5 Commodities
  ['POST', '/v4/commodity/'],
  // 4.6 Persona delegates
  ['GET', '/v4/persona/delegates'],
  ['GET', '/v4/persona/{hash}/verify'],
  // 4.7 Agent endpoints
  ['GET', '/v4/agent/account'],
  ['POST', '/v4/agent/account-changes'],
  // 4.8 Earlier versions
  ['POST', '/v2/account'],
  ['POST', '/v2/account/oauth/token'],
  ['POST', '/v3/user'],
  ['GET', '/v2/user/{user_id}'],
  ['POST', '/v2/user/oauth/token'],
  ['POST', '/v2/twin/'],
  ['GET', '/v2/twin/{hostname}'],
  ['GET', '/v2/twins'],
  ['GET', '/v2/twin/{hostname}/binder'],
  ['POST', '/v2/commodity/'],
  ['GET', '/v2/commodity/{hash}'],
  ['GET', '/v3/persona/delegates'],
  ['GET', '/v3/persona/{hash}/verify'],
  // 1: they behave as OAuth 2.0 and OpenID Connect describe
  ['POST', '/v4/oidc/token'],
  ['GET', '/v4/oidc/jwks'],
  ['POST', '/v4/oidc/token/introspection'],
  ['GET', '/v4/oidc/.well-known/openid-configuration'],
]

/** The operations that the documentation names without their bodies and answers. No client shows them either. */
export const onlyNamed: Named = [
  ['GET', '/v4/twin/{hostname}/inventory'],
  ['GET', '/v2/twin/{hostname}/inventory'],
  ['GET', '/v2/users'],
  ['POST', '/v2/twin/nonce'],
  ['PUT', '/v2/twin/nonce'],
  ['GET', '/v2/twin/dq'],
]
