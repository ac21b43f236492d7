/** Facts about a span, under names such as `http.route`. They hold no secrets and no addresses of people. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** Where a span belongs: the headers of W3C Trace Context. Without a valid `traceparent` it begins a new trace. */
export interface TraceParent {
  readonly traceparent: string | null
  readonly tracestate?: string | null
}

export interface NewSpan {
  readonly name: string
  /** `server`: it answers a request. `client`: it calls someone else. */
  readonly kind: 'server' | 'client' | 'internal'
  readonly attributes?: SpanAttributes
  /** What it is a part of. Default: whatever is active where it begins. */
  readonly parent?: TraceSpan | TraceParent | undefined
}

/** A piece of work in a trace. */
export interface TraceSpan {
  /** Names it for others, as the header of W3C Trace Context. */
  readonly traceparent: string
  rename(name: string): void
  set(attributes: SpanAttributes): void
  /** Runs work while this span is active, so that spans of other libraries become parts of it. */
  run<T>(work: () => T): T
  /** Ends it. `error` is the type of its failure, such as `503`. Absent if it did not fail. */
  end(error?: string): void
}

/** Takes what the service does as spans. */
export interface Tracer {
  start(span: NewSpan): TraceSpan
}
