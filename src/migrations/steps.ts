import { toV2 } from './v2.js'
import { toV3 } from './v3.js'
import { toV4 } from './v4.js'

/** The migrations from the first schema to that of this release. */
export const migrations = [...toV2, ...toV3, ...toV4]
