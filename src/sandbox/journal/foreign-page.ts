import { isLoopbackOrigin } from '../../base/loopback.js'
import { parsedUrl } from '../../base/text/foreign-url.js'
import type { Entry } from '../onion/entry.js'

/**
 * Whether a page of another site made a browser send this, and may not read the answer: an image, a frame, a form, a script.
 * Nobody who develops against the sandbox asked for it. A link to an operation that someone followed counts as asked for.
 */
export function isOfForeignPage({ origin: through, request, response, operation_id }: Entry): boolean {
  // MSW hands over what its own page sends, and no header that says so.
  if (through === 'msw') return false
  const { origin, referer, 'sec-fetch-site': site, 'sec-fetch-dest': destination } = request.headers
  // Pages that may call have their origin in the answer (CORS).
  if (response.headers['access-control-allow-origin'] !== undefined) return false
  if (origin !== undefined) return site !== 'same-origin'
  if (site !== 'cross-site' || isOnThisMachine(referer)) return false
  return destination !== 'document' || operation_id === null
}

/** A page at localhost is of another site than 127.0.0.1. */
const isOnThisMachine = (referer: string | undefined): boolean =>
  isLoopbackOrigin((referer !== undefined && parsedUrl(referer)?.origin) || '')
