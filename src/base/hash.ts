import canonicalize from 'canonicalize'
import { digest } from './secrets.js'

/**
 * Canonical JSON (RFC 8785): equal values have equal text, whatever the order of their keys. `undefined` becomes the
 * empty string.
 */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? ''

/** The hash of a value's canonical JSON: `41`, the code for SHA-256, and 64 hex digits. */
export const contentHash = (identified: object): string => `41${digest(canonicalJson(identified))}`
