import { LimitedMap } from '../../base/memo.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import { redactLinks } from '../../base/text/redacted.js'
import type { TraceParent, Tracer, TraceSpan } from '../../base/tracer.js'
import type { CommitRecord, RowChange } from '../../storage/transaction.js'
import type { ServiceContext } from '../context.js'
import type { Incoming } from '../incoming.js'
import { isProbe } from '../probes/paths.js'
import type { BackgroundWork, LaterMessage, Recorder, Recording, RequestRecording, WorkRecording } from '../recorder.js'
import type { RenderedAnswer } from '../rendered-answer.js'
import { originAttributes, TracedPorts } from './traced-ports.js'

/** How many events and messages it remembers the spans of, so that a delivery is part of the trace that caused it. */
const MOST_REMEMBERED = 10_000

interface SpanRecorderOptions {
  readonly tracer: Tracer
  readonly basePath: string
  readonly collections: { readonly messages: string; readonly events: string }
}

/** Records what a service does as spans too. A start that failed may have begun that already. */
export function traceWith(tracer: Tracer, context: ServiceContext, collections: SpanRecorderOptions['collections']) {
  const { recorder, options } = context
  const others = (recorder?.all ?? [recorder]).flatMap((each) => (!each || each instanceof SpanRecorder ? [] : [each]))
  const spans = new SpanRecorder({ tracer, basePath: options.basePath, collections })
  context.recorder = new Recorders([...others, spans])
}

/** Records requests and deliveries as spans, with a span within them for each call of the storage and of a port. */
class SpanRecorder implements Recorder {
  /** By the collection and the id of a row: the `traceparent` of the span that wrote it. */
  readonly #writers = new LimitedMap<string, string>(MOST_REMEMBERED)

  constructor(readonly options: SpanRecorderOptions) {}

  beginRequest(incoming: Incoming): RequestRecording | undefined {
    if (isProbe(incoming.path)) return undefined
    const { tracer, basePath } = this.options
    const name = methodOf(incoming)
    const { clientAddress } = incoming
    const url = parsedUrl(incoming.url)
    const attributes = {
      'http.request.method': name,
      ...(url && originAttributes(url)),
      ...(clientAddress !== undefined && { 'client.address': clientAddress }),
    }
    const parent = callerOf(incoming)
    const span = tracer.start({ name: name === '_OTHER' ? 'HTTP' : name, kind: 'server', attributes, parent })
    const ports = this.#portsIn(span)
    return {
      ...recordedIn(span, ports),
      takeBody() {},
      end(ended, answer) {
        ports.isEnded = true
        endRequest(span, basePath, ended, answer)
      },
    }
  }

  /** Timers are no spans: they cause nothing outside, and begin when they have ended. */
  beginWork({ origin, kind, id }: BackgroundWork): WorkRecording | undefined {
    if (origin === 'timer') return undefined
    const { tracer, collections } = this.options
    const traceparent = this.#writers.get(`${collections.messages}:${id}`) ?? null
    const attributes = { 'farthing.message.kind': kind, 'farthing.message.id': id }
    const span = tracer.start({ name: `deliver ${kind}`, kind: 'internal', attributes, parent: { traceparent } })
    const end = ({ failure }: { readonly failure?: unknown }) => span.end(failure === undefined ? undefined : 'failed')
    return { ...recordedIn(span, this.#portsIn(span)), end }
  }

  noteMessage(eventId: number, { id }: LaterMessage): void {
    const { collections } = this.options
    const traceparent = this.#writers.get(`${collections.events}:${eventId}`)
    if (traceparent !== undefined) this.#writers.set(`${collections.messages}:${id}`, traceparent)
  }

  #portsIn(span: TraceSpan): TracedPorts {
    return new TracedPorts(this.options.tracer, span, (changes) => this.#remember(changes, span))
  }

  #remember(changes: readonly RowChange[], { traceparent }: TraceSpan): void {
    const { messages, events } = this.options.collections
    for (const { collection, id } of changes)
      if (collection.name === messages || collection.name === events)
        this.#writers.set(`${collection.name}:${id}`, traceparent)
  }
}

/** A span is no name of a request. */
const recordedIn = (span: TraceSpan, ports: TracedPorts) => ({
  id: undefined,
  over: (service: ServiceContext) => ports.over(service),
  noteFault: (faultId: string) => span.set({ 'farthing.fault': faultId }),
})

/** Only now the route is known, and with it which parts of the path are secret. */
function endRequest(span: TraceSpan, basePath: string, incoming: Incoming, answer: RenderedAnswer | undefined): void {
  const { endpoint, recording } = incoming
  if (endpoint) {
    const route = basePath + endpoint.path
    span.rename(`${methodOf(incoming)} ${route}`)
    // Whoever has the token of a link may use it.
    const path = basePath + redactLinks(incoming.path)
    span.set({ 'url.path': path, 'http.route': route, 'farthing.operation_id': endpoint.route.id })
  }
  span.set({
    ...(answer && { 'http.response.status_code': answer.status }),
    ...(recording?.id !== undefined && { 'farthing.request_id': recording.id }),
  })
  if (!answer) span.end('dropped')
  else span.end(answer.status >= 500 ? String(answer.status) : undefined)
}

/** Methods that HTTP knows. Others would make a name of their own each. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
const methodOf = ({ request: { method } }: Incoming): string => (METHODS.has(method) ? method : '_OTHER')

/** The caller's trace. A call in process belongs to what is active there. A server may begin several requests at once. */
function callerOf({ headers, source }: Incoming): TraceParent | undefined {
  const traceparent = headers.get('traceparent')
  if (traceparent === null && source.peerAddress === undefined) return undefined
  return { traceparent, tracestate: headers.get('tracestate') }
}

/** Several recorders of the same work. The service calls its ports through the last one first. */
class Recorders implements Recorder {
  constructor(readonly all: readonly Recorder[]) {}

  beginRequest(incoming: Incoming): RequestRecording | undefined {
    const begun = this.all.map((recorder) => recorder.beginRequest(incoming)).filter((each) => each !== undefined)
    return begun.length > 0 ? new RequestRecordings(begun) : undefined
  }

  beginWork(work: BackgroundWork): WorkRecording | undefined {
    const begun = this.all.map((recorder) => recorder.beginWork(work)).filter((each) => each !== undefined)
    return begun.length > 0 ? new WorkRecordings(begun) : undefined
  }

  noteMessage(eventId: number, message: LaterMessage): void {
    for (const recorder of this.all) recorder.noteMessage(eventId, message)
  }
}

class Recordings<R extends Recording> implements Recording {
  constructor(protected readonly all: readonly R[]) {}

  get id(): string | undefined {
    return this.all.find(({ id }) => id !== undefined)?.id
  }

  over(service: ServiceContext): ServiceContext {
    return this.all.reduce((given, recording) => recording.over(given), service)
  }

  noteFault(faultId: string): void {
    for (const recording of this.all) recording.noteFault(faultId)
  }
}

class RequestRecordings extends Recordings<RequestRecording> implements RequestRecording {
  takeBody(body: Uint8Array | string): void {
    for (const recording of this.all) recording.takeBody(body)
  }

  end(incoming: Incoming, answer: RenderedAnswer | undefined): void {
    for (const recording of this.all) recording.end(incoming, answer)
  }
}

class WorkRecordings extends Recordings<WorkRecording> implements WorkRecording {
  end(outcome: { readonly written?: CommitRecord | undefined; readonly failure?: unknown }): void {
    for (const recording of this.all) recording.end(outcome)
  }
}
