import { partKey } from '../../../base/parts.js'

/** The fonts of invoices. */
export const fontsKey = partKey<typeof import('./packaged-fonts.js')>('fonts')
