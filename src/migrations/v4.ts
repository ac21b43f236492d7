import type { Migration } from '../storage/tables/migration.js'
import type { MigrationStep } from './step.js'
import { consentSteps } from './v4-consent.js'
import { identitySteps } from './v4-identity.js'
import { jobsSteps } from './v4-jobs.js'
import { moneySteps } from './v4-money.js'

const steps: readonly MigrationStep[] = [...moneySteps, ...identitySteps, ...consentSteps, ...jobsSteps]

/** From the third schema to the fourth, which limits what each caller may store. */
export const toV4: readonly Migration[] = steps.map((step) => ({ to: 4, ...step }))
