import { type Evidence, isWeaker } from '../../base/evidence.js'
import { checkKey } from '../../base/idempotency-key.js'
import { PAGE_CALL } from '../../base/page-call.js'
import { load } from '../../base/parts.js'
import { Problem, problem, problemOr } from '../../base/problem.js'
import { withoutEnd } from '../../base/text/ends.js'
import type { StorageObserver } from '../../storage/service-storage.js'
import type { Reader, Writer } from '../../storage/storage.js'
import type { DecodedRequest } from '../around.js'
import { type Caller, presentedDevice, type SentCredentials } from '../caller.js'
import { type ServiceContext, storeNothing } from '../context.js'
import { checkFields, checkTexts, readFields, readText, TextValue, textFields } from '../fields/body.js'
import { checkNoCardData } from '../fields/card-data.js'
import { weakField } from '../fields/graded.js'
import { type HeldBody, tooManyWait } from '../fields/intake.js'
import { callerKey, type KeyedRequest, retrySecretOf } from '../idempotency/idempotency.js'
import { handleOnce, type KeyedRun, writeOnce } from '../idempotency/once.js'
import type { Endpoint, Incoming } from '../incoming.js'
import { type RenderedAnswer, render } from '../rendered-answer.js'
import type { Call, Principal, Route } from '../route.js'
import { forSameCaller } from './same-caller.js'

/** Decodes, authenticates, checks and handles a request, in one transaction unless the route has `handle`. */
export async function perform(endpoint: Endpoint, incoming: Incoming, service: ServiceContext) {
  const { route } = endpoint
  checkAccess(endpoint, incoming, service)
  const run = new RequestRun(endpoint, incoming, service)
  try {
    if (route.body !== undefined || (route.queryInBody && incoming.source.body !== undefined)) await run.readBody()
    run.decode()
    return await (service.sandbox ? service.sandbox.requests.run(run, handle) : handle(run))
  } finally {
    run.endWaiting()
    run.held?.release()
  }
}

async function handle(run: RequestRun): Promise<RenderedAnswer> {
  const { endpoint, incoming, service } = run
  const { route } = endpoint
  if (route.read) {
    const { read } = route
    if (route.wholeList !== undefined) return render(endpoint, await run.readList(read, route.wholeList), incoming)
    const { observer } = run
    const { storage } = observer ? service : run.recorded
    const handled = await storage.read(
      async (tx) => read(tx, run.callOf(await run.authenticate(tx)), service),
      observer,
    )
    return render(endpoint, handled, incoming)
  }
  if (run.key !== null) checkKey(run.key)
  try {
    return await (route.handle ? handleOnce(run, route.handle) : writeOnce(run))
  } catch (error) {
    if (!(error instanceof Problem) || !run.principal) throw error
    // After the call, so that nothing of this counts as a change by the call or is stored under its key.
    throw await service.rules.completeRefusal(error, run.principal, run.recorded)
  }
}

/** A request on its way through its route. A class, because functions of its own would cost each request more. */
class RequestRun implements KeyedRun, DecodedRequest {
  declare readonly endpoint: Endpoint
  declare readonly incoming: Incoming
  declare readonly service: ServiceContext
  /** Its Idempotency-Key. Null if there is none, or its route takes none. */
  declare readonly key: string | null
  declare readonly observer: StorageObserver | undefined
  declare held: HeldBody | undefined
  declare principal: Principal | undefined
  declare params: Record<string, string>
  declare query: Record<string, unknown>
  declare body: Record<string, unknown>
  declare private bytes: Uint8Array
  declare private text: AsyncIterable<string>
  declare private sent: SentCredentials | undefined
  declare private isWaiting: boolean
  declare private over: ServiceContext | undefined

  constructor(endpoint: Endpoint, incoming: Incoming, service: ServiceContext) {
    this.endpoint = endpoint
    this.incoming = incoming
    this.service = service
    this.key = endpoint.route.idempotent ? incoming.headers.get('idempotency-key') : null
    this.observer = incoming.recording?.observer
    this.params = NONE
    this.query = NONE
    this.body = NONE
    this.bytes = NO_BYTES
    this.text = NO_TEXT
    this.isWaiting = false
  }

  get recorded(): ServiceContext {
    this.over ??= this.incoming.recording?.over(this.service) ?? this.service
    return this.over
  }

  async readBody(): Promise<void> {
    const { endpoint, incoming, service } = this
    const { scope, bodyLimit, takesBytes } = endpoint.route
    // Who runs the service must reach its controls most when too many others call.
    if (scope !== 'sandbox' && scope !== 'meta') {
      const isFromNetwork = incoming.source.peerAddress !== undefined
      this.held = service.intake.bodies.begin(isFromNetwork ? (incoming.clientAddress ?? '') : undefined)
    }
    this.body = await readFields(incoming, {
      limit: service.limits[bodyLimit ?? 'bodyBytes'],
      isSnapshot: bodyLimit === 'snapshotBytes',
      held: this.held,
      onBytes: takesBytes ? (bytes) => (this.bytes = bytes) : undefined,
      beforeMore: () => this.#knowCaller(),
    })
  }

  /** Authenticates a caller by the headers alone, if they must say who calls. Throws what authentication does. */
  async #knowCaller(): Promise<void> {
    const { endpoint, incoming } = this
    const { auth, query } = endpoint.route
    if (auth.some((kind) => kind === 'none' || kind === 'client' || kind === 'refresh')) return
    const isOptional = auth.some((kind) => kind === 'guest' || kind === 'embed') || endpoint.takesFormToken
    if (isOptional && !incoming.headers.has('authorization')) return
    const sent = this.#sentBy(query ? queryFields(incoming.query) : NONE, NONE)
    this.#beginWaiting()
    try {
      await this.recorded.storage.read((tx) => this.service.rules.findCaller(tx, auth, sent, this.service))
    } finally {
      this.endWaiting()
    }
  }

  /** Decodes what has arrived, and lets it wait for its first transaction. */
  decode(): void {
    const { endpoint, incoming, service, body } = this
    const { route } = endpoint
    if (route.refusesCardData) checkNoCardData(Object.values(body).map(decodedText))
    if (route.query) this.query = queryFields(incoming.query)
    if (route.params) this.params = decodedPath(incoming.params)
    if (route.queryInBody && body !== NONE) this.query = { ...this.query, ...body }
    if (incoming.leastEvidence !== 'designed') refuseWeakFields(route, incoming, this)
    if (route.text) this.text = readText(incoming, { ...route.text, limit: service.limits[route.text.limit] })
    this.#beginWaiting()
  }

  /** Lets the call wait, unless it is a control or about the service itself. Throws `overloaded` if as many wait as may. */
  #beginWaiting(): void {
    const { scope } = this.endpoint.route
    if (scope === 'sandbox' || scope === 'meta') return
    const { waiting } = this.service.intake
    if (!waiting.enter()) throw tooManyWait(waiting)
    this.isWaiting = true
  }

  /** Its place in the queue is free: its first transaction is done, or does its last part. */
  endWaiting(): void {
    if (this.isWaiting) this.service.intake.waiting.leave()
    this.isWaiting = false
  }

  authenticate(tx: Reader): Promise<Caller> {
    this.sent ??= this.#sentBy(this.query, this.body)
    return this.service.rules.findCaller(tx, this.endpoint.route.auth, this.sent, this.service)
  }

  findCaller(): Promise<Caller> {
    return this.recorded.storage.read((tx) => this.authenticate(tx))
  }

  async prepare(tx: Reader): Promise<Call> {
    return this.callOf(await this.authenticate(tx))
  }

  callOf({ principal, session, provenUser }: Caller): Call {
    const { incoming, service } = this
    const { route, version } = this.endpoint
    this.principal = principal
    incoming.principal = principal
    incoming.provenUser = provenUser
    // The answer repeats the session.
    if (session) {
      incoming.session = session.id
      incoming.issued = session.issued
      incoming.isWithheld = session.isDerived ?? false
    }
    // A handler may wait for others, such as a seller's server or a person, as long as it likes.
    if (route.handle) this.endWaiting()
    const { headers } = incoming
    const device = headers.get('cookie') === null ? undefined : presentedDevice(incoming, service.baseUrl)
    return {
      params: route.params ? checkPath(route.params, this.params) : NONE,
      query: route.query ? checkFields(route.query, this.query) : NONE,
      body: route.body ? checkFields(route.body, this.body) : NONE,
      bytes: this.bytes,
      text: this.text,
      principal,
      session,
      version,
      headers,
      url: incoming.url,
      source: { address: incoming.clientAddress, device },
      ending: incoming.source.ending,
      isAuthenticated: async (later) => !((await problemOr(this.authenticate(later))) instanceof Problem),
      storeAnswer: storeNothing,
    }
  }

  keyed(call: Call): KeyedRequest | undefined {
    const { endpoint, incoming, service, key } = this
    const { route } = endpoint
    const caller = key === null ? undefined : callerKey(call, route, key)
    incoming.isKeyed = caller !== undefined
    if (key === null || caller === undefined) return undefined
    const isStillValid = (tx: Writer, { status, body: stored }: RenderedAnswer) =>
      route.isStillValid && status < 300 && typeof stored === 'string'
        ? route.isStillValid(tx, call, JSON.parse(stored), service)
        : Promise.resolve(true)
    return { key, caller, method: incoming.method, path: pathTo(endpoint, call), fields: this.body, isStillValid }
  }

  serviceFor(call: Call): ServiceContext {
    return forSameCaller(this.recorded, call.principal, (tx) => this.authenticate(tx))
  }

  /** Reads every row, if the caller asks for no page. */
  async readList(readPage: NonNullable<Route['read']>, name: string): Promise<unknown> {
    const { readWholeList } = await load(() => import('../whole-list.js'))
    const service = this.recorded
    return service.storage.read(async (tx) =>
      readWholeList({ name, readPage, tx, call: await this.prepare(tx), service }),
    )
  }

  #sentBy(query: Record<string, unknown>, body: Record<string, unknown>): SentCredentials {
    const { incoming } = this
    const { route, takesFormToken } = this.endpoint
    return {
      method: incoming.method,
      url: incoming.url,
      headers: incoming.headers,
      takesBareCookie: route.takesBareCookie,
      publicSecret: decodedText(body.public_secret ?? query.public_secret),
      retrySecret: () => retrySecretOf(route, incoming, body),
      formToken: takesFormToken ? decodedText(body.access_token) : undefined,
      resource: route.isResource ? this.service.baseUrl + withoutEnd(incoming.path, '/') : undefined,
      agentScope: route.agentScope ?? 'twin',
      // Strict modes know no such callers.
      mayPay: route.sell !== undefined && incoming.leastEvidence === 'designed',
      recognized(principal: Principal) {
        incoming.principal = principal
      },
    }
  }
}

/** The path of a call in its normal form: without a trailing slash, and percent-encoded. */
const pathTo = ({ path }: Endpoint, { params }: Call): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(String((params as Record<string, unknown>)[name])))

function checkAccess(endpoint: Endpoint, incoming: Incoming, { sandbox }: ServiceContext): void {
  const { route, evidence, isGraded } = endpoint
  incoming.endpoint = endpoint
  sandbox?.requests.reach(endpoint)
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
    if (isWeaker(evidence, leastEvidence) && form.test(String(params[name])))
      throw evidenceRefused(`This form of "${name}"`, name, evidence, incoming)
  const queried = Object.keys(queryFields(incoming.query)).find((name) => route.query && name in route.query.shape)
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
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: Record<string, unknown>
}

const NONE: Record<string, never> = Object.freeze({})
const NO_BYTES = new Uint8Array()
const NO_TEXT: AsyncIterable<string> = { async *[Symbol.asyncIterator]() {} }

const queryFields = (query: string): Record<string, unknown> =>
  query === '' ? NONE : textFields(new URLSearchParams(query))

function decodedPath(params: Incoming['params']): Record<string, string> {
  const decoded: Record<string, string> = {}
  for (const name in params) {
    const text = params[name] ?? ''
    decoded[name] = text.includes('%') ? decodePart(text) : text
  }
  return decoded
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw problem('path_malformed', { cause })
  }
}

const decodedText = (value: unknown): unknown => (value instanceof TextValue ? value.text : value)

/** Checks path parameters. Throws `not_found`, because an invalid one cannot name anything. */
function checkPath(schema: NonNullable<Route['params']>, params: Record<string, string>): Record<string, unknown> {
  try {
    return checkTexts(schema, params)
  } catch (cause) {
    throw problem('not_found', { cause })
  }
}
