import { Problem, problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { component, UnixSeconds, z } from '../../http/fields/schema.js'
import { type Call, defineRoutes, route } from '../../http/route.js'
import type { Writer } from '../../storage/storage.js'
import { checkClient, findAccessToken, isUnused, refresh, tokenForClient } from './token.js'

const TokenPair = component('TokenPair', {
  access_token: z.secret(z.string()),
  expires_at: UnixSeconds,
  refresh_token: z.secret(z.string()),
  refresh_expires_at: UnixSeconds,
})

type TokenCall = Call<
  unknown,
  unknown,
  { grant_type?: 'client_credentials' | 'refresh_token' | undefined },
  'client' | 'refresh'
>

// One handler for both paths: the principal depends on the credentials, not on the path (Micro Payment Service Interface, section 4.1).
const tokenEndpoint = {
  evidence: 'documented',
  method: 'POST',
  versions: ['v4', 'v2'],
  auth: ['client', 'refresh'],
  body: component('TokenRequest', { grant_type: z.optional(z.enum(['client_credentials', 'refresh_token'])) }),
  bodyOptional: true,
  result: TokenPair,
  errors: ['client_unknown', 'too_many_failures', 'refresh_token_invalid'],
  idempotent: true,
  isStillValid,
  write: exchange,
} as const

export const tokenRoutes = defineRoutes('tokens', {
  createAccountToken: route({
    ...tokenEndpoint,
    summary: "Get a token pair for an account's client credentials, or a new one for a refresh token.",
    path: '/account/oauth/token',
  }),
  createUserToken: route({
    ...tokenEndpoint,
    summary: "Get a token pair for a user's client credentials, or a new one for a refresh token.",
    path: '/user/oauth/token',
  }),
})

const BY_BASIC = '"grant_type" must be "client_credentials" with Basic credentials. Send a refresh token as Bearer.'

async function exchange(tx: Writer, { principal, body }: TokenCall, service: ServiceContext) {
  const at = service.clock.now()
  if (principal.kind === 'refresh') return refresh(tx, principal.refresh_token, at, service)
  if (body.grant_type === 'refresh_token')
    throw problem('field_invalid', { detail: BY_BASIC, fields: { field: 'grant_type' } })
  const client = await checkClient(tx, principal, at)
  return client instanceof Problem ? client : tokenForClient(tx, client, at, service)
}

/** A pair that was revoked or used since is not given again: credentials get another, a refresh token none. */
async function isStillValid(tx: Writer, { principal }: TokenCall, answer: unknown, { clock }: ServiceContext) {
  const at = clock.now()
  const { data: pair } = TokenPair.safeParse(answer)
  const isGood = pair !== undefined && (await isUnused(tx, pair, at))
  if (principal.kind === 'client') {
    const client = await checkClient(tx, principal, at)
    if (client instanceof Problem) throw client
    return isGood && (await findAccessToken(tx, pair.access_token, at)) !== undefined
  }
  if (!isGood) throw problem('refresh_token_invalid')
  return true
}
