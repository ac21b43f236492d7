import { type GuardedRequest, type GuardedService, mayRead } from './sandbox-guard.js'

const EXPOSED =
  'X-Session-ID, X-Request-ID, X-Evidence, X-Payment-ID, X-Payment-Status, Idempotent-Replayed, Retry-After, Location, WWW-Authenticate, Mcp-Session-Id'

/**
 * Sets the CORS headers of an answer. Every page may call and read. A sandbox that is served over HTTP answers only
 * pages that `sandbox-guard.ts` trusts. `origin.ts` decides about cookies.
 */
export function setCorsHeaders(answer: Record<string, string>, request: GuardedRequest, guarded: GuardedService): void {
  answer.vary = 'Origin'
  const origin = request.headers.get('origin')
  if (origin === null || !mayRead(origin, request, guarded)) return
  answer['access-control-allow-origin'] = origin
  answer['access-control-allow-credentials'] = 'true'
  answer['access-control-expose-headers'] = EXPOSED
}

export function preflightHeaders(headers: Pick<Headers, 'get'>, methods: readonly string[]): Record<string, string> {
  return {
    allow: methods.join(', '),
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': headers.get('access-control-request-headers') ?? '*',
    'access-control-max-age': '600',
  }
}
