import { type GuardedRequest, type GuardedService, mayRead } from './sandbox-guard.js'

const EXPOSED =
  'X-Session-ID, X-Evidence, X-Payment-ID, X-Payment-Status, Idempotent-Replayed, Retry-After, Location, WWW-Authenticate'

/**
 * Any page may call, with what it sends itself; in a sandbox that is served over HTTP, any that sandbox-guard.ts trusts.
 * What a cookie may do is decided by origin.ts.
 */
export function setCorsHeaders(answer: Record<string, string>, asked: GuardedRequest, guarded: GuardedService): void {
  answer.vary = 'Origin'
  const origin = asked.headers.get('origin')
  if (origin === null || !mayRead(origin, asked, guarded)) return
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
