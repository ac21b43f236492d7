import type { Migration } from '../storage/tables/migration.js'
import { consentSteps } from './v2-consent.js'
import { identitySteps } from './v2-identity.js'
import { jobsSteps } from './v2-jobs.js'
import { marketSteps } from './v2-market.js'
import { moneySteps } from './v2-money.js'
import { sandboxSteps } from './v2-sandbox.js'

/** From the first schema, whose states have no number, to the second. Some of its states have new fields already. */
export const toV2: readonly Migration[] = [
  ...jobsSteps,
  ...moneySteps,
  ...identitySteps,
  ...consentSteps,
  ...marketSteps,
  ...sandboxSteps,
].map((step) => ({ to: 2, ...step }))
