import { normalEmail } from '../../base/text/email.js'
import { accountOf, memberships, updateAccount } from '../../identity/accounts/account.js'
import { users } from '../../identity/users/user.js'
import type { Reader, Writer } from '../../storage/storage.js'
import { recordBillingEvent } from '../plans/subscription.js'
import { billingProfiles, type Profile } from './invoice-row.js'

const NONE = { business_address: null, billing_email: null, tax_number: null }

export async function profileOf(tx: Reader, accountId: number): Promise<Profile> {
  const { business_name } = await accountOf(tx, accountId)
  const { business_address, billing_email, tax_number } = (await tx.get(billingProfiles, accountId)) ?? NONE
  return { business_name, business_address, billing_email, tax_number }
}

/** Undefined: unchanged. Null: cleared. */
export type ProfileChanges = { readonly [K in keyof Profile]?: Profile[K] | undefined }

/** Changes the profile on future invoices. Issued invoices stay as they are. `actor` default: the account. */
export async function updateBillingProfile(
  tx: Writer,
  accountId: number,
  changes: ProfileChanges,
  at: number,
  actor?: string,
): Promise<Profile> {
  const { business_name: businessName } = changes
  if (businessName !== undefined) await updateAccount(tx, accountId, { businessName, actor, at })
  const was = await profileOf(tx, accountId)
  const given = Object.entries(normalized(changes)).filter(([, value]) => value !== undefined)
  const profile: Profile = { ...was, ...Object.fromEntries(given) }
  const { business_name, ...kept } = profile
  tx.put(billingProfiles, { id: accountId, ...kept })
  const data = { changed: given.map(([name]) => name) }
  await recordBillingEvent(tx, accountId, { type: 'billing.profile_updated', by: 'account', actor, data, at })
  return profile
}

const normalized = (changes: ProfileChanges): ProfileChanges =>
  changes.billing_email ? { ...changes, billing_email: normalEmail(changes.billing_email) } : changes

const MAX_OWNERS = 100

/** Returns who gets mail about billing: the billing email, otherwise the users who own the account. */
export async function billingEmails(tx: Reader, accountId: number): Promise<string[]> {
  const { billing_email } = await profileOf(tx, accountId)
  if (billing_email !== null) return [normalEmail(billing_email)]
  const owners = await tx.find(memberships, { index: 'byAccount', prefix: [accountId], limit: MAX_OWNERS })
  const found = await Promise.all(owners.map(({ user_id }) => tx.get(users, user_id)))
  return found.flatMap((user) => (user && user.deleted_at === null ? [user.email] : []))
}
