import {
  context,
  createTraceState,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer as TelemetryTracer,
  type TracerProvider,
  trace,
} from '@opentelemetry/api'
import { type NewSpan, type TraceParent, type Tracer, type TraceSpan, VERSION } from '../src/core.js'

export interface OpenTelemetryOptions {
  /** Creates the spans. Default: the provider that the SDK has registered, or registers later. */
  tracerProvider?: TracerProvider
}

/**
 * Gives the service's spans to OpenTelemetry. Without a provider they go nowhere. Exporters, samplers and resources are
 * those of the SDK that you set up.
 */
export function openTelemetryTracer({ tracerProvider = trace }: OpenTelemetryOptions = {}): Tracer {
  const tracer = tracerProvider.getTracer('farthing', VERSION)
  return { start: (span) => new TelemetrySpan(tracer, span) }
}

const kinds: Readonly<Record<NewSpan['kind'], SpanKind>> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
}

class TelemetrySpan implements TraceSpan {
  readonly #span
  readonly #context

  constructor(tracer: TelemetryTracer, { name, kind, attributes = {}, parent }: NewSpan) {
    const within = contextOf(parent)
    this.#span = tracer.startSpan(name, { kind: kinds[kind], attributes }, within)
    this.#context = trace.setSpan(within, this.#span)
  }

  static contextOf(span: TelemetrySpan) {
    return span.#context
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#span.spanContext()
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`
  }

  rename(name: string): void {
    this.#span.updateName(name)
  }

  set(attributes: Readonly<Record<string, string | number>>): void {
    this.#span.setAttributes(attributes)
  }

  run<T>(work: () => T): T {
    return context.with(this.#context, work)
  }

  end(error?: string): void {
    if (error !== undefined) {
      this.#span.setAttribute('error.type', error)
      this.#span.setStatus({ code: SpanStatusCode.ERROR })
    }
    this.#span.end()
  }
}

function contextOf(parent: NewSpan['parent']) {
  if (parent === undefined) return context.active()
  if (parent instanceof TelemetrySpan) return TelemetrySpan.contextOf(parent)
  const remote = spanContextOf(parent)
  return remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT
}

/** W3C Trace Context, section 3.2. Versions after 00 may have more parts. */
const TRACEPARENT = /^(?!ff)([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/

function spanContextOf({ traceparent, tracestate }: TraceParent): SpanContext | undefined {
  const [, version, traceId = '', spanId = '', flags = '', more] = TRACEPARENT.exec(traceparent ?? '') ?? []
  if (version === '00' && more !== undefined) return undefined
  const found: SpanContext = {
    ...{ traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true },
    ...(tracestate && { traceState: createTraceState(tracestate) }),
  }
  return isSpanContextValid(found) ? found : undefined
}
