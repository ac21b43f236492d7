import type { ServiceContext } from '../../http/context.js'
import { component, IdPath, listing, UnixSeconds, z } from '../../http/fields/schema.js'
import { noContent } from '../../http/reply.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import type { Reader } from '../../storage/storage.js'
import { claimsOf, discoveryDocument, optionalEndpoints } from './claims.js'
import { clientById, type SentClient, signingAlgorithms } from './clients/client.js'
import { deleteClient, deleteConnection, listConnections } from './connection.js'
import {
  checkTokenReplay,
  createOidcToken,
  introspectOidcToken,
  presentedCredentials,
  revokeOidcToken,
} from './exchange.js'
import { ensureKey, makeFirstKeys, publishedKeys, unkeyedAlgorithms } from './keys.js'
import { oauthRefusal, registrationRefusal } from './pages/refusals.js'
import { managedClient, registerOidcClient, showClient, updateOidcClient } from './registration.js'
import * as shape from './schema.js'

const open = { auth: ['none'], versions: ['v4'], refused: oauthRefusal } as const

const discovery = {
  auth: ['none'],
  method: 'GET',
  shareable: true,
  result: shape.Discovery,
  read: async (_tx: unknown, _call: unknown, service: Pick<ServiceContext, 'baseUrl' | 'options'>) =>
    discoveryDocument(service),
} as const

const managed = {
  ...open,
  evidence: 'designed',
  path: '/oidc/reg/:client_id',
  params: z.object({ client_id: shape.ClientId }),
} as const

const own = { evidence: 'designed', versions: ['v4'], auth: ['user', 'session'] } as const
const metadataErrors = ['invalid_redirect_uri', 'invalid_client_metadata'] as const

const sentClient = ({
  headers,
  body: { client_id, client_secret },
}: Call<unknown, unknown, { client_id?: string | undefined; client_secret?: string | undefined }>): SentClient => ({
  authorization: headers.get('authorization'),
  client_id,
  client_secret,
})

const requestErrors = ['unsupported_grant_type', 'invalid_scope', 'invalid_target'] as const
const clientErrors = ['invalid_client', 'invalid_request', 'too_many_failures'] as const

const userinfo = {
  evidence: optionalEndpoints.userinfo,
  versions: ['v4'],
  path: '/oidc/me',
  auth: ['agent'],
  agentScope: 'openid',
  result: shape.Userinfo,
  refused: oauthRefusal,
} as const

const readClaims = (
  tx: Reader,
  { principal: { user_id: userId, scopes } }: Pick<Call<unknown, unknown, unknown, 'agent'>, 'principal'>,
  service: ServiceContext,
) => claimsOf(tx, { userId, scopes, withKey: true }, service)

export const oidcRoutes = defineRoutes('oidc', {
  readOpenidConfiguration: route({
    ...discovery,
    summary: 'Read the OpenID Connect provider metadata.',
    evidence: 'documented',
    path: '/oidc/.well-known/openid-configuration',
    versions: ['v4'],
  }),
  readAuthorizationServer: route({
    ...discovery,
    summary: 'Read the same as OAuth authorization server metadata.',
    evidence: 'designed',
    path: '/oidc/.well-known/oauth-authorization-server',
    versions: ['v4'],
  }),
  readInsertedAuthorizationServer: route({
    ...discovery,
    summary: "Read the same before the issuer's path (RFC 8414 section 3.1).",
    evidence: 'designed',
    path: '/.well-known/oauth-authorization-server/v4/oidc',
  }),
  readInsertedOpenidConfiguration: route({
    ...discovery,
    summary: "Read the OpenID Connect provider metadata before the issuer's path.",
    evidence: 'designed',
    path: '/.well-known/openid-configuration/v4/oidc',
  }),
  readJwks: route({
    summary: 'Read the public keys that verify tokens. A rotated key stays listed for a day.',
    evidence: 'documented',
    method: 'GET',
    path: '/oidc/jwks',
    versions: ['v4'],
    auth: ['none'],
    shareable: true,
    result: shape.KeySet,
    async handle(_call, service) {
      const at = service.clock.now()
      const published = async (tx: Reader) => ({ keys: await publishedKeys(tx, at) })
      const { unkeyed, known } = await service.storage.read(async (tx) => {
        const unkeyed = await unkeyedAlgorithms(tx)
        return { unkeyed, known: unkeyed.length === 0 ? await published(tx) : undefined }
      })
      if (known) return known
      const made = await makeFirstKeys(unkeyed, service)
      return service.storage.write(async (tx) => {
        for (const algorithm of signingAlgorithms) await ensureKey(tx, { algorithm, at, made }, service)
        return published(tx)
      })
    },
  }),
  registerOidcClient: route({
    ...open,
    summary: 'Register an app, public or confidential (RFC 7591).',
    evidence: optionalEndpoints.registration,
    method: 'POST',
    path: '/oidc/reg',
    body: shape.Metadata,
    status: 201,
    result: shape.Registration,
    errors: metadataErrors,
    refused: registrationRefusal,
    adds: 'oidc_clients',
    idempotent: true,
    // If the client was deleted since, it is registered again.
    isStillValid: async (tx, _call, stored) =>
      (await clientById(tx, shape.Registration.parse(stored).client_id)) !== undefined,
    write: (tx, { body }, service) => registerOidcClient(tx, body, service),
  }),
  readOidcClient: route({
    ...managed,
    summary: "Read an app's registration with its registration access token (RFC 7592).",
    method: 'GET',
    result: shape.Registration,
    errors: ['token_invalid'],
    read: async (tx, { params, headers }, service) =>
      showClient(await managedClient(tx, params.client_id, headers.get('authorization')), service),
  }),
  updateOidcClient: route({
    ...managed,
    summary: "Replace an app's metadata with its registration access token (RFC 7592).",
    method: 'PUT',
    body: shape.Replacement,
    result: shape.Registration,
    errors: ['token_invalid', 'invalid_request', ...metadataErrors],
    refused: registrationRefusal,
    async write(tx, { params, headers, body }, service) {
      const client = await managedClient(tx, params.client_id, headers.get('authorization'))
      return updateOidcClient(tx, client, body, service)
    },
  }),
  deleteOidcClient: route({
    ...managed,
    summary: 'Delete an app and its connections with its registration access token (RFC 7592).',
    method: 'DELETE',
    status: 204,
    errors: ['token_invalid'],
    async write(tx, { params, headers }, service) {
      const { row } = await managedClient(tx, params.client_id, headers.get('authorization'))
      await deleteClient(tx, row, service)
      return noContent()
    },
  }),
  createOidcToken: route({
    ...open,
    summary: 'Exchange a code (with PKCE) or a refresh token for tokens. Each works once.',
    evidence: 'documented',
    method: 'POST',
    path: '/oidc/token',
    body: shape.TokenBody,
    result: shape.Tokens,
    errors: [...clientErrors, 'invalid_grant', 'unauthorized_client', ...requestErrors],
    idempotent: true,
    presented: (call) => presentedCredentials(sentClient(call), call.body),
    async isStillValid(tx, call, stored, service) {
      await checkTokenReplay(tx, { client: sentClient(call), issued: shape.Tokens.parse(stored) }, service)
      return true
    },
    write: (tx, call, service) => createOidcToken(tx, { client: sentClient(call), request: call.body }, service),
  }),
  introspectOidcToken: route({
    ...open,
    summary: 'Describe a token to the confidential client that owns it (RFC 7662).',
    evidence: 'documented',
    method: 'POST',
    path: '/oidc/token/introspection',
    body: shape.TokenParameters,
    result: shape.Introspected,
    errors: clientErrors,
    write: (tx, call, service) =>
      introspectOidcToken(tx, { client: sentClient(call), token: call.body.token }, service),
  }),
  revokeOidcToken: route({
    ...open,
    summary: 'Revoke an access token, or a refresh token and every token of the same code (RFC 7009).',
    evidence: optionalEndpoints.revocation,
    method: 'POST',
    path: '/oidc/token/revocation',
    body: shape.TokenParameters,
    result: z.object({}),
    errors: [...clientErrors, 'unauthorized_client'],
    write: async (tx, call, service) =>
      (await revokeOidcToken(tx, { client: sentClient(call), token: call.body.token }, service)) ?? {},
  }),
  readUserinfo: route({
    ...userinfo,
    summary: "Read the claims about the user that the access token's scopes allow.",
    method: 'GET',
    read: readClaims,
  }),
  readUserinfoByForm: route({
    ...userinfo,
    summary: 'Read the same claims with the access token in the header or in a form.',
    method: 'POST',
    body: z.object({ access_token: z.secret(z.optional(z.string())) }),
    errors: ['invalid_request'],
    read: readClaims,
  }),
  listConnections: route({
    ...own,
    summary: 'List the apps that the user connected, newest first.',
    path: '/connections',
    ...listing(
      'connections',
      component('Connection', {
        id: z.Id,
        client_id: z.TextId,
        client_name: z.string(),
        client_host: z.nullable(z.string()),
        account_id: z.nullable(z.Id),
        scope: z.string(),
        created_at: UnixSeconds,
        updated_at: UnixSeconds,
      }),
    ),
    read: (tx, { principal, query }) => listConnections(tx, principal.id, query),
  }),
  deleteConnection: route({
    ...own,
    summary: 'Disconnect an app. Its tokens stop working at once, and its approvals expire.',
    method: 'DELETE',
    path: '/connections/:id',
    params: IdPath,
    status: 204,
    errors: ['not_found'],
    async write(tx, { params, principal }, service) {
      await deleteConnection(tx, { id: params.id, userId: principal.id, at: service.clock.now() }, service)
      return noContent()
    },
  }),
})
