import canonicalize from 'canonicalize'
import { digest } from './secrets.js'

/** JSON by RFC 8785: equal values give equal text, whatever the order of their keys. */
export const canonicalJson = (value: unknown): string => canonicalize(value) as string

/** `41`, the code for SHA-256, and 64 hex digits: the hash of the canonical JSON of what it identifies. */
export const contentHash = (identified: object): string => `41${digest(canonicalJson(identified))}`
