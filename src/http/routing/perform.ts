import { type Evidence, isWeaker } from '../../base/evidence.js'
import { load } from '../../base/load.js'
import { PAGE_CALL } from '../../base/page-call.js'
import { Problem, problem } from '../../base/problem.js'
import { withoutEnd } from '../../base/text/ends.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { Caller } from '../caller.js'
import { clientAddress } from '../client-address.js'
import type { ServiceContext } from '../context.js'
import { checkFields, readFields, TextValue, textFields } from '../fields/body.js'
import { checkNoCardData } from '../fields/card-data.js'
import { weakField } from '../fields/graded.js'
import { readText } from '../fields/text-body.js'
import { callerKey, retrySecretOf } from '../idempotency/caller-key.js'
import { checkKey, type KeyedRequest } from '../idempotency/idempotency.js'
import { handleOnce, writeOnce } from '../idempotency/once.js'
import type { Endpoint, Incoming } from '../incoming.js'
import { presentedDevice } from '../origin.js'
import { type RenderedAnswer, render } from '../rendered-answer.js'
import type { Call, Principal, Route } from '../route.js'
import { storeNothing } from '../stored-answer.js'
import { admit } from '../waiting-requests.js'
import { forSameCaller } from './same-caller.js'

/** Decodes, authenticates, checks and handles a request, in one transaction unless the route has `handle`. */
export function perform(endpoint: Endpoint, incoming: Incoming, service: ServiceContext): Promise<RenderedAnswer> {
  const { route } = endpoint
  checkAccess(endpoint, incoming, service)
  const takesBody = route.body !== undefined || (route.queryInBody && incoming.source.body !== undefined)
  return takesBody ? performRead(endpoint, incoming, service) : performWith(NONE, endpoint, incoming, service)
}

/** Reads the body first. */
async function performRead(endpoint: Endpoint, incoming: Incoming, service: ServiceContext): Promise<RenderedAnswer> {
  const { route } = endpoint
  const { scope, bodyLimit } = route
  // Who runs the service must reach its controls most when too many others call.
  const isCounted = scope !== 'sandbox' && scope !== 'meta'
  const held = isCounted ? service.intake.bodies.begin(addressOf(incoming, service)) : undefined
  try {
    const body = await readFields(incoming, {
      limit: service.limits[bodyLimit ?? 'bodyBytes'],
      isSnapshot: bodyLimit === 'snapshotBytes',
      held,
      beforeMore: () => knowCaller(endpoint, incoming, service),
    })
    return await performWith(body, endpoint, incoming, service)
  } finally {
    held?.release()
  }
}

const addressOf = (incoming: Incoming, service: ServiceContext): string | undefined =>
  incoming.source.peerAddress === undefined
    ? undefined
    : (incoming.clientAddress ?? clientAddress(incoming.source, incoming.headers, service.options) ?? '')

/** Authenticates a caller by the headers alone, if they must say who calls. Throws what authentication does. */
async function knowCaller(endpoint: Endpoint, incoming: Incoming, service: ServiceContext): Promise<void> {
  const { route } = endpoint
  const { auth } = route
  if (auth.some((kind) => kind === 'none' || kind === 'client' || kind === 'refresh')) return
  const isOptional = auth.some((kind) => kind === 'guest' || kind === 'embed') || endpoint.takesFormToken
  if (isOptional && !incoming.headers.has('authorization')) return
  const fields = { query: route.query ? queryFields(incoming.query) : NONE, body: NONE }
  const endWaiting = admit(route, service)
  try {
    await service.storage.read((tx) =>
      service.rules.findCaller(tx, auth, sentBy(endpoint, incoming, fields, service), service),
    )
  } finally {
    endWaiting()
  }
}

/** Handles a request whose body has arrived. */
async function performWith(
  body: Record<string, unknown>,
  endpoint: Endpoint,
  incoming: Incoming,
  service: ServiceContext,
): Promise<RenderedAnswer> {
  const { route } = endpoint
  if (route.refusesCardData) checkNoCardData(Object.values(body).map(decodedText))
  const fields = decode(route, incoming, body)
  if (incoming.leastEvidence !== 'designed') refuseWeakFields(route, incoming, fields)
  const text = route.text ? readText(incoming, { ...route.text, limit: service.limits[route.text.limit] }) : NO_TEXT
  const authenticate = (tx: Reader) =>
    service.rules.findCaller(tx, route.auth, sentBy(endpoint, incoming, fields, service), service)
  const endWaiting = admit(route, service)
  const findCaller = () => service.storage.read(authenticate)
  const prepared = { endpoint, incoming, service, fields, text, authenticate, findCaller, endWaiting }
  try {
    return await (service.sandbox ? service.sandbox.requests.run(prepared, runPrepared) : runPrepared(prepared))
  } finally {
    endWaiting()
  }
}

interface PreparedRequest {
  readonly endpoint: Endpoint
  readonly incoming: Incoming
  readonly service: ServiceContext
  readonly fields: Fields
  readonly text: AsyncIterable<string>
  /** Finds the caller. */
  authenticate(tx: Reader): Promise<Caller>
  /** Its place in the queue is free: its first transaction is done, or does its last part. */
  endWaiting(): void
}

/** Authenticates, checks and handles a decoded request. */
async function runPrepared(prepared: PreparedRequest): Promise<RenderedAnswer> {
  const { endpoint, incoming, service, fields, text, authenticate, endWaiting } = prepared
  const { route } = endpoint
  let principal: Principal | undefined
  const prepare = async (tx: Reader): Promise<Call> => {
    const caller = await authenticate(tx)
    remember(incoming, caller)
    principal = caller.principal
    // A handler may wait for others, such as a seller's server or a person, as long as it likes.
    if (route.handle) endWaiting()
    return {
      ...check(endpoint, incoming, fields, caller, service),
      text,
      isAuthenticated: (later) => succeeds(authenticate(later)),
    }
  }
  if (route.read) {
    const read = route.wholeList === undefined ? route.read : await wholeReader(route.read, route.wholeList)
    return render(endpoint, await service.storage.read(async (tx) => read(tx, await prepare(tx), service)), incoming)
  }
  const key = route.idempotent ? incoming.headers.get('idempotency-key') : null
  if (key !== null) checkKey(key)
  const keyed = (call: Call): KeyedRequest | undefined => {
    const caller = key === null ? undefined : callerKey(call, route, key)
    incoming.isKeyed = caller !== undefined
    if (key === null || caller === undefined) return undefined
    const isStillValid = (tx: Writer, { status, body: stored }: RenderedAnswer) =>
      route.isStillValid && status < 300 && typeof stored === 'string'
        ? route.isStillValid(tx, call, JSON.parse(stored), service)
        : Promise.resolve(true)
    return { key, caller, method: incoming.method, path: pathTo(endpoint, call), fields: fields.body, isStillValid }
  }
  const serviceFor = (call: Call) => forSameCaller(service, call.principal, authenticate)
  const run = { endpoint, incoming, service, serviceFor, prepare, keyed, isKeyed: key !== null }
  try {
    return await (route.handle ? handleOnce(run, route.handle) : writeOnce(run))
  } catch (error) {
    // After the call, so that nothing of this counts as a change by the call or is stored under its key.
    throw error instanceof Problem && principal ? await service.rules.completeRefusal(error, principal, service) : error
  }
}

/** Reads every row, if the caller asks for no page. */
async function wholeReader(readPage: NonNullable<Route['read']>, name: string): Promise<NonNullable<Route['read']>> {
  const { readWholeList } = await load(() => import('../whole-list.js'))
  return (tx, call, service) => readWholeList({ name, readPage, tx, call, service })
}

/** Whether an attempt succeeds. False if it rejects with a problem. Throws other errors. */
async function succeeds(attempt: Promise<unknown>): Promise<boolean> {
  try {
    await attempt
    return true
  } catch (error) {
    if (error instanceof Problem) return false
    throw error
  }
}

/** The path of a call in its normal form: without a trailing slash, and percent-encoded. */
const pathTo = ({ path }: Endpoint, { params }: Call): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String((params as Record<string, unknown>)[name])))

function checkAccess(endpoint: Endpoint, incoming: Incoming, { sandbox }: ServiceContext): void {
  const { route, evidence, isGraded } = endpoint
  if (!isGraded || incoming.headers.has(PAGE_CALL)) incoming.leastEvidence = 'designed'
  if (incoming.leastEvidence !== 'designed' && isWeaker(evidence, incoming.leastEvidence))
    throw evidenceRefused('This operation', route.id, evidence, incoming)
  if (sandbox) sandbox.requests.guard(endpoint, incoming)
  else if (route.scope === 'sandbox') throw problem('no_such_path')
}

/** Throws `evidence_refused` if a request holds a field, or an Idempotency-Key, that strict mode refuses. */
function refuseWeakFields(route: Route, incoming: Incoming, { params, query, body }: Fields): void {
  const { headers, leastEvidence, source } = incoming
  if (route.idempotent && headers.has('idempotency-key'))
    throw evidenceRefused('The header "Idempotency-Key"', 'Idempotency-Key', 'designed', incoming)
  if (route.deviceToken && headers.has('x-device-token'))
    throw evidenceRefused('The header "X-Device-Token"', 'X-Device-Token', 'designed', incoming)
  const weak =
    (route.query && weakField(route.query, query, leastEvidence)) ??
    (route.body && weakField(route.body, body, leastEvidence))
  if (weak) throw evidenceRefused(`The field "${weak.path}"`, weak.path, weak.evidence, incoming)
  for (const [name, { form, evidence }] of Object.entries(route.weakParams ?? {}))
    if (isWeaker(evidence, leastEvidence) && form.test(String(decodedText(params[name]))))
      throw evidenceRefused(`This form of "${name}"`, name, evidence, incoming)
  const queried = Object.keys(incoming.query).find((name) => route.query && name in route.query.shape)
  if (route.queryInBody && source.takesGetBody && queried !== undefined)
    throw evidenceRefused(`The field "${queried}" in the query, in place of the body,`, queried, 'designed', incoming)
}

/** `what` begins the sentence, and `refused` is its name alone. */
const evidenceRefused = (what: string, refused: string, grade: Evidence, { leastEvidence }: Incoming): Problem =>
  problem('evidence_refused', {
    detail: `${what} is ${grade}, and the mode is ${leastEvidence}.`,
    facts: { what, refused, grade },
  })

interface Fields {
  readonly params: Record<string, unknown>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

function decode(route: Route, incoming: Incoming, body: Fields['body']): Fields {
  const query = route.query ? queryFields(incoming.query) : NONE
  const params = route.params ? pathFields(incoming.params) : NONE
  return { params, query: route.queryInBody && body !== NONE ? { ...query, ...body } : query, body }
}

const NONE: Record<string, unknown> = Object.freeze({})

/** Of a route that takes no text. */
const NO_TEXT: AsyncIterable<string> = { async *[Symbol.asyncIterator]() {} }

const queryFields = (query: Incoming['query']) => {
  const pairs: (readonly [string, string])[] = []
  for (const name in query) for (const value of [query[name] ?? []].flat()) pairs.push([name, value])
  return pairs.length > 0 ? textFields(pairs) : NONE
}

function pathFields(params: Incoming['params']): Fields['params'] {
  const fields: Record<string, TextValue> = {}
  for (const name in params) fields[name] = new TextValue(decodePart(params[name] ?? ''), false)
  return fields
}

function decodePart(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw problem('path_malformed', { cause })
  }
}

const sentBy = (
  { route, takesFormToken }: Endpoint,
  incoming: Incoming,
  { query, body }: Pick<Fields, 'query' | 'body'>,
  { baseUrl }: ServiceContext,
) => {
  const { isResource, agentScope = 'twin', takesBareCookie } = route
  const publicSecret = body.public_secret ?? query.public_secret
  return {
    method: incoming.method,
    url: incoming.url,
    headers: incoming.headers,
    takesBareCookie,
    publicSecret: publicSecret === undefined ? undefined : decodedText(publicSecret),
    retrySecret: () => retrySecretOf(route, incoming, body),
    formToken: takesFormToken ? decodedText(body.access_token) : undefined,
    resource: isResource ? baseUrl + withoutEnd(incoming.path, '/') : undefined,
    agentScope,
    recognized(principal: Principal) {
      incoming.principal = principal
    },
  }
}

const decodedText = (value: unknown): unknown => (value instanceof TextValue ? value.text : value)

/** Notes who calls, and makes the answer repeat their session. */
function remember(incoming: Incoming, { session, principal, provenUser }: Caller): void {
  incoming.principal = principal
  incoming.provenUser = provenUser
  if (!session) return
  incoming.session = session.id
  incoming.issued = session.issued
  incoming.isWithheld = session.isDerived ?? false
}

function check(
  { route, version }: Endpoint,
  incoming: Incoming,
  fields: Fields,
  caller: Caller,
  service: ServiceContext,
): Omit<Call, 'text' | 'isAuthenticated'> {
  return {
    params: route.params ? checkPath(route, fields.params) : {},
    query: route.query ? checkFields(route.query, fields.query) : {},
    body: route.body ? checkFields(route.body, fields.body) : {},
    principal: caller.principal,
    session: caller.session,
    version,
    headers: incoming.headers,
    url: incoming.url,
    source: {
      address: incoming.source.peerAddress && clientAddress(incoming.source, incoming.headers, service.options),
      device: presentedDevice(incoming, service.baseUrl),
    },
    ending: incoming.source.ending,
    storeAnswer: storeNothing,
  }
}

/** Checks path parameters. Throws `not_found`, because an invalid one cannot name anything. */
function checkPath(route: Route, params: Record<string, unknown>): Record<string, unknown> {
  try {
    return checkFields(route.params as NonNullable<Route['params']>, params)
  } catch (cause) {
    throw problem('not_found', { cause })
  }
}
