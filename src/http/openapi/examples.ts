import recorded from './examples.json' with { type: 'json' }

/** A call that succeeded: what was sent and what was answered. */
export interface Example {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string | number>>
  readonly body?: Readonly<Record<string, unknown>>
  readonly answer?: unknown
}

/** Calls of a tour through the service, by the ids of their operations. Their service was closed, so its secrets open nothing. */
export const examples: Readonly<Record<string, Example>> = recorded
