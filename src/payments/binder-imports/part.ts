import { partKey } from '../../base/parts.js'

/** Imports binders from CSV. */
export const csvKey = partKey<typeof import('./import.js')>('csv')
