import canonicalize from 'canonicalize'
import { digest } from './secrets.js'

/** JSON by RFC 8785: equal values give equal text, whatever the order of their keys. No value at all gives the empty text, which is no JSON. */
export const canonicalJson = (value: unknown): string => canonicalize(value) ?? ''

/** `41`, the code for SHA-256, and 64 hex digits: the hash of the canonical JSON of what it identifies. */
export const contentHash = (identified: object): string => `41${digest(canonicalJson(identified))}`
