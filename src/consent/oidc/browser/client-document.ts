import { Problem, problem } from '../../../base/problem.js'
import { checkHops } from '../../../base/via.js'
import type { CallSource, ServiceContext } from '../../../http/context.js'
import { networkAt } from '../../../identity/users/user.js'
import { isRateReached, type RateLimit, spendRate } from '../../../jobs/rates/rate.js'
import { callUpstream, readWhole, UpstreamFailure } from '../../../jobs/upstream/call.js'
import { checkUpstreamUrl } from '../../../jobs/upstream/policy.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { isObject } from '../../../storage/unknown.js'
import { type ClientMetadata, clientById, isDocumentId, type OidcClientRow, oidcClients } from '../clients/client.js'
import { isRedirectUri } from '../clients/redirect-uri.js'
import { isScope, splitOnSpaces } from '../issuer.js'
import { checkMetadata } from '../registration.js'
import { Metadata } from '../schema.js'

const FRESH_FOR = 3_600_000
const MOST_BYTES = 32_768
const MOST_MS = 10_000
const aMinute = { windowMs: 60_000, code: 'too_many_fetches' } as const

/** Anybody can name any host. So each is called only so often for one network, and for all: nobody stops its apps alone. */
const ofHostForNetwork: RateLimit = { kind: 'client_documents', most: 20, ...aMinute }
const ofHost: RateLimit = { kind: 'client_documents_of_host', most: 200, ...aMinute }
/** Documents of any hosts for one network. With DNS, one host has any number of names. */
const forNetwork: RateLimit = { kind: 'client_documents_for_network', most: 60, ...aMinute }

/** What a fetch counts against. A victim has 65,535 ports, and is one host. */
function countsOf(clientId: string, { address }: Pick<CallSource, 'address'>) {
  const [{ hostname }, network] = [new URL(clientId), networkAt(address)]
  return [
    { limit: ofHostForNetwork, subject: `${hostname} ${network ?? ''}` },
    { limit: ofHost, subject: hostname },
    ...(network === undefined ? [] : [{ limit: forNetwork, subject: network }]),
  ]
}

/**
 * Prepares a client whose id is the https URL of its metadata (OAuth Client ID Metadata Document): fetches the document
 * and stores the client, unless that happened within the hour. Does nothing for any other id. Throws `invalid_request` for
 * a document that is out of reach or not supported, `too_many_fetches`, and `too_many_new`.
 */
export async function prepareDocumentClient(
  clientId: string | undefined,
  { hops, source }: { readonly hops: number; readonly source: CallSource },
  service: ServiceContext,
): Promise<void> {
  if (clientId === undefined || !isDocumentId(clientId)) return
  const at = service.clock.now()
  const known = await service.storage.read((tx) => clientById(tx, clientId))
  if (isFresh(known, at)) return
  const counts = countsOf(clientId, source)
  // Whoever names many addresses of a host keeps nobody from signing in with an app of that host that is known.
  if (known && (await service.storage.read((tx) => isAnyReached(tx, counts, at)))) return
  await service.storage.write(async (tx) => {
    for (const { limit, subject } of counts) await spendRate(tx, limit, { subject, at })
  })
  const metadata = await fetchDocument(clientId, hops, service)
    .then((document) => readDocument(clientId, document))
    .catch((error: unknown) => Promise.reject(error instanceof Problem ? unusable(error) : error))
  await service.storage.write((tx) => storeClient(tx, { id: clientId, metadata, source, at }, service))
}

async function isAnyReached(tx: Reader, counts: ReturnType<typeof countsOf>, at: number): Promise<boolean> {
  for (const { limit, subject } of counts) if (await isRateReached(tx, limit, { subject, at })) return true
  return false
}

const unusable = (cause: Problem): Problem =>
  problem('invalid_request', { detail: `The document at \`client_id\` cannot be used. ${cause.message}`, cause })

const isFresh = (client: OidcClientRow | undefined, at: number): boolean => {
  const age = at - (client?.document_fetched_at ?? Number.NEGATIVE_INFINITY)
  return age >= 0 && age < FRESH_FOR
}

type FetchedClient = Pick<OidcClientRow, 'id' | 'metadata'> & { readonly source: CallSource; readonly at: number }

async function storeClient(tx: Writer, { id, metadata, source, at }: FetchedClient, service: ServiceContext) {
  const known = await clientById(tx, id)
  if (!known) await service.rules.countNew(tx, oidcClients.name, { address: source.address }, service)
  tx.put(oidcClients, {
    id,
    secret_digest: null,
    registration_digest: null,
    metadata,
    created_at: known?.created_at ?? at,
    unused_since: known?.unused_since === null ? null : at,
    document_fetched_at: at,
  })
}

/** Returns the document. Its Content-Type must be JSON, so that a page or picture of the same host is not one. */
async function fetchDocument(clientId: string, hops: number, service: ServiceContext): Promise<unknown> {
  checkHops(hops)
  const url = checkUpstreamUrl(clientId, service)
  const { upstream, alarm, ending, allowUpstream, sandbox, limits } = service
  const least = {
    upstreamMs: Math.min(limits.upstreamMs, MOST_MS),
    upstreamBytes: Math.min(limits.upstreamBytes, MOST_BYTES),
  }
  const caller = { upstream, alarm, ending, allowUpstream, sandbox, limits: least }
  const headers = { accept: 'application/json' }
  try {
    const answer = await callUpstream(caller, { url, method: 'GET', headers, body: null, hops })
    const bytes = await readWhole(answer)
    if (answer.status !== 200) throw wrong(`Its address answers ${answer.status}.`)
    if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(answer.contentType ?? ''))
      throw wrong('Its Content-Type must be application/json.')
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    if (cause instanceof Problem) throw cause
    throw wrong(cause instanceof UpstreamFailure ? cause.message : 'It must be JSON.', cause)
  }
}

/** A document is written for many servers, so what this one does not support is left out. Throws problems of metadata. */
function readDocument(clientId: string, document: unknown): ClientMetadata {
  if (!isObject(document)) throw wrong('It must be a JSON object.')
  if (document.client_id !== clientId) throw wrong('Its `client_id` must be its own address.')
  // A shared secret in a public document is none, and this service checks no client assertions.
  if ('client_secret' in document || (document.token_endpoint_auth_method ?? 'none') !== 'none')
    throw wrong('Its `token_endpoint_auth_method` must be none, and it must hold no `client_secret`.')
  const parsed = Metadata.safeParse({ ...document, jwks: undefined, jwks_uri: undefined })
  if (!parsed.success) throw wrong(`Its \`${parsed.error.issues[0]?.path.join('.')}\` is not valid.`)
  const { client_name, client_uri, id_token_signed_response_alg, scope, ...lists } = parsed.data
  return checkMetadata({
    ...{ client_name, client_uri, id_token_signed_response_alg, token_endpoint_auth_method: 'none' },
    redirect_uris: lists.redirect_uris?.filter(isRedirectUri),
    post_logout_redirect_uris: lists.post_logout_redirect_uris?.filter(isRedirectUri),
    grant_types: lists.grant_types?.filter((type) => type === 'authorization_code' || type === 'refresh_token'),
    response_types: lists.response_types?.filter((type) => type === 'code'),
    scope: scope !== undefined && splitOnSpaces(scope).some(isScope) ? scope : undefined,
  })
}

const wrong = (detail: string, cause?: unknown): Problem => problem('invalid_client_metadata', { detail, cause })
