import { partKey } from '../../../base/parts.js'

export const fontsKey = partKey<typeof import('./packaged-fonts.js')>('fonts')
