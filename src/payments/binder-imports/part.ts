import { partKey } from '../../base/parts.js'

export const csvKey = partKey<typeof import('./import.js')>('csv')
