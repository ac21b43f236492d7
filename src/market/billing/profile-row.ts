import { collection } from '../../storage/storage.js'

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
