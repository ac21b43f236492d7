import { partKey } from '../../base/parts.js'

/** Explains the answers in the journal. */
export const explainKey = partKey<typeof import('./explain.js')>('explain')
