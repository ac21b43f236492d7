import type { Migration } from '../storage/tables/migration.js'
import { consentToV2 } from './v2-consent.js'
import { identityToV2 } from './v2-identity.js'
import { jobsToV2 } from './v2-jobs.js'
import { marketToV2 } from './v2-market.js'
import { moneyToV2 } from './v2-money.js'
import { sandboxToV2 } from './v2-sandbox.js'

/** From the first schema, whose states have no number, to the second. Some of its states have new fields already. */
export const toV2: readonly Migration[] = [
  ...jobsToV2,
  ...moneyToV2,
  ...identityToV2,
  ...consentToV2,
  ...marketToV2,
  ...sandboxToV2,
].map((step) => ({ to: 2, ...step }))
