import type { ChargedCard } from '../../base/ports.js'
import { collection } from '../../storage/storage.js'
import type { CardOnFile, PlanId } from '../plans/plan.js'

/** `draft`: its card is being charged. `open`: owed. `void`: nothing is owed. `uncollectible`: the plan was cancelled over it. */
export type InvoiceStatus = 'draft' | 'open' | 'paid' | 'void' | 'uncollectible'

export interface InvoiceLine {
  readonly description: string
  /** Cents. Negative for a credit. */
  readonly amount: string
  readonly period_start: number
  readonly period_end: number
}

/** A charge whose outcome is unknown. */
export interface PendingCharge extends CardOnFile {
  /** Its idempotency key at the processor. */
  readonly id: string
  /** `service`: no caller waits, and the service tries again after a failure. */
  readonly by: 'account' | 'service'
}

export interface InvoiceRow {
  readonly id: number
  readonly account_id: number
  /** Numbered from 1 for each account, without gaps. Null: not issued. */
  readonly number: number | null
  readonly status: InvoiceStatus
  /** What it pays for: a change to the plan, or its renewal. */
  readonly reason: 'upgrade' | 'renewal'
  readonly plan: PlanId
  readonly lines: readonly InvoiceLine[]
  /** Cents. */
  readonly total: string
  /** As of the time when the invoice was created. */
  readonly profile: Profile
  readonly charge: PendingCharge | null
  /** The charge that paid, if a card was charged. */
  readonly charge_id: string | null
  readonly card: ChargedCard | null
  /** How many charges by the service failed. */
  readonly failures: number
  /** When the first of them failed. */
  readonly failed_at: number | null
  readonly next_try_at: number | null
  readonly created_at: number
  readonly issued_at: number | null
  readonly paid_at: number | null
}

export const invoices = collection<InvoiceRow>()(
  'invoices',
  { byAccount: { fields: ['account_id'] } },
  {
    refs: { account_id: 'accounts', charge_id: null },
    growth: { by: 'the service', bound: 'One for each month and change of plan of an account, and each is charged.' },
    retention: { forever: 'It is a record of value.' },
  },
)

/** Kind of the timer that ends a paid period. Its subject is the account's id. */
export const BILLING_PERIOD_ENDS = 'billing_period_ends'

/** Kind of the timer that charges a card again. Its subject is the invoice's id. */
export const BILLING_RETRY = 'billing_try_again'

/** The part that is not stored with the account. */
export interface ProfileRow extends Omit<Profile, 'business_name'> {
  /** The account's id. */
  readonly id: number
}

export const billingProfiles = collection<ProfileRow>()(
  'billing_profiles',
  {},
  { growth: { by: 'an account', bound: 'One for each account.' }, retention: { forever: 'One for each account.' } },
)

/** The name and addresses on an account's invoices. */
export interface Profile {
  /** Also shown to buyers. */
  readonly business_name: string | null
  readonly business_address: string | null
  readonly billing_email: string | null
  readonly tax_number: string | null
}
