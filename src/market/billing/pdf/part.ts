import { partKey } from '../../../base/parts.js'

/** The fonts of invoices. */
export const fonts = partKey<typeof import('./packaged-fonts.js')>('fonts')
