import { partKey } from '../../base/parts.js'

/** Imports binders from CSV. */
export const csv = partKey<typeof import('./import.js')>('csv')
