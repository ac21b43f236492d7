import * as z from 'zod/mini'
import { generated } from './marks.js'

/** An id that is a number. */
export const Id = generated(z.int())
/** An id with random letters or digits. */
export const TextId = generated(z.string())
/** The name of a twin, which is random unless it was given. */
export const Hostname = generated(z.string())
/** A URL with an id or a token in it. Its token is never shown. */
export const Link = generated(z.string())
/** ISO 8601. */
export const IsoTime = generated(z.string())
