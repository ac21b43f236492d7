import { toV2 } from './v2.js'
import { toV4 } from './v4.js'

/** The migrations from the first schema to that of this release. The third adds webhooks, and changes no row. */
export const migrations = [...toV2, ...toV4]
