import { problem } from '../../../base/problem.js'
import { quoted } from '../../../base/text/quotation.js'
import { checkNoCardData } from '../../../http/fields/card-data.js'
import { AccountName, profileFields, z } from '../../../http/fields/schema.js'
import { accountOf, updateAccount } from '../../../identity/accounts/account.js'
import { profileOf, updateBillingProfile } from '../../../market/billing/profile.js'
import { nameTwin, ownTwin, readTwin, TWIN_NAME, twinName } from '../../../money/twins/twin.js'
import type { Reader } from '../../../storage/storage.js'
import { type ChangeKind, fieldsOf, listed } from './kind.js'

const { business_name: _, ...addressFields } = profileFields

/** The names of `PUT /v4/account`, and the addresses of a billing profile. */
const updateAccountSchema = z.strictObject({
  kind: z.literal('update_account'),
  name: z.optional(AccountName),
  businessName: z.optional(AccountName),
  ...addressFields,
})

export type UpdateAccount = z.output<typeof updateAccountSchema>

export const updateAccountKind: ChangeKind<UpdateAccount> = {
  schema: updateAccountSchema,
  isWhole: true,
  steps: [
    {
      name: 'name',
      async make(tx, { accountId, change: { name, businessName }, actor, at }) {
        if (name !== undefined || businessName !== undefined)
          await updateAccount(tx, accountId, { name, businessName, actor, at })
        return undefined
      },
    },
    {
      name: 'profile',
      async make(tx, { accountId, change: { kind: _, name: __, businessName: ___, ...profile }, actor, at }) {
        if (fieldsOf({ kind: '', ...profile }).length > 0) await updateBillingProfile(tx, accountId, profile, at, actor)
        return undefined
      },
    },
  ],

  check(change) {
    checkNoCardData(change)
    if (fieldsOf(change).length > 0) return
    throw problem('field_invalid', {
      detail: '"change" needs at least one field to change.',
      fields: { field: 'change' },
    })
  },

  async view(tx, { accountId, change }) {
    const names = fieldsOf(change).map(([name]) => name)
    const now = await namedFields(tx, accountId, change)
    return { about: {}, now, summary: `Change the business account: ${listed(names)}` }
  },

  result: async (tx, { accountId, change }) => ({
    account: { id: accountId, ...(await namedFields(tx, accountId, change)) },
  }),
}

/** The current values of the changed fields. An agent reads nothing else of a business. */
async function namedFields(tx: Reader, id: number, change: UpdateAccount): Promise<Readonly<Record<string, unknown>>> {
  const { name, business_name: businessName } = await accountOf(tx, id)
  const business: Record<string, unknown> = { name, businessName, ...(await profileOf(tx, id)) }
  return Object.fromEntries(fieldsOf(change).map(([field]) => [field, business[field]]))
}

const renameWalletSchema = z.strictObject({
  kind: z.literal('rename_wallet'),
  hostname: z.string(),
  name: z.string().check(z.trim(), z.regex(TWIN_NAME, '1 to 64 characters of one line')),
})

export type RenameWallet = z.output<typeof renameWalletSchema>

const ownerOf = (accountId: number) => `account:${accountId}` as const

export const renameWalletKind: ChangeKind<RenameWallet> = {
  schema: renameWalletSchema,
  isWhole: true,
  steps: [
    {
      name: 'name',
      async make(tx, { accountId, change, actor, at }) {
        const twin = await ownTwin(tx, ownerOf(accountId), change.hostname)
        await nameTwin(tx, twin, { name: change.name, actor, at })
        return undefined
      },
    },
  ],

  async view(tx, { accountId, change: { hostname, name } }) {
    const twin = await ownTwin(tx, ownerOf(accountId), hostname)
    return {
      about: { wallet: { id: twin.id, hostname: twin.hostname } },
      now: { name: await twinName(tx, twin.id) },
      summary: `Name the wallet ${twin.hostname.slice(0, 12)}… ${quoted(name)}`,
    }
  },

  /** Returns no key, because that would let its bearer act as the business. */
  async result(tx, { accountId, change: { hostname } }, { options }) {
    const twin = await readTwin(tx, ownerOf(accountId), hostname, { options })
    return { twin, name: await twinName(tx, twin.id) }
  },
}
