import { accountOf, updateAccount } from '../../accounts/account.js'
import { profileOf, updateProfile } from '../../billing/profile.js'
import { AccountName, profileFields, z } from '../../http/schema.js'
import { problem } from '../../problem.js'
import type { Reader } from '../../storage/storage.js'
import { type ChangeKind, fieldsOf } from './kind.js'
import { listed } from './wording.js'

const schema = z.strictObject({
  kind: z.literal('update_account'),
  name: z.optional(AccountName),
  ...profileFields,
})

export type UpdateAccount = z.output<typeof schema>

export const updateAccountKind: ChangeKind<UpdateAccount> = {
  schema,
  isWhole: true,
  steps: [
    {
      name: 'name',
      async make(tx, { accountId, change: { name }, at }) {
        if (name !== undefined) await updateAccount(tx, accountId, { name, at })
        return undefined
      },
    },
    {
      name: 'profile',
      async make(tx, { accountId, change: { kind: _, name: __, ...profile }, at }) {
        if (fieldsOf({ kind: '', ...profile }).length > 0) await updateProfile(tx, accountId, profile, at)
        return undefined
      },
    },
  ],

  check(change) {
    if (fieldsOf(change).length > 0) return
    throw problem('field_invalid', { detail: '"change" names nothing to change.', fields: { field: 'change' } })
  },

  async view(tx, { accountId, change }) {
    const shown: Record<string, unknown> = await showBusiness(tx, accountId)
    const names = fieldsOf(change).map(([name]) => name)
    const now = Object.fromEntries(names.map((name) => [name, shown[name]]))
    return { about: {}, now, summary: `Change the business account: ${listed(names)}` }
  },

  result: async (tx, { accountId }) => ({ account: await showBusiness(tx, accountId) }),
}

async function showBusiness(tx: Reader, id: number) {
  return { id, name: (await accountOf(tx, id)).name, ...(await profileOf(tx, id)) }
}
