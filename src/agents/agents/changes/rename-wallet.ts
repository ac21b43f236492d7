import { quoted } from '../../../base/text/quotation.js'
import { z } from '../../../http/fields/schema.js'
import { ownTwin, readTwin } from '../../../money/twins/twin.js'
import { nameTwin, TWIN_NAME, twinName } from '../../../money/twins/twin-name.js'
import type { ChangeKind } from './kind.js'

const schema = z.strictObject({
  kind: z.literal('rename_wallet'),
  hostname: z.string(),
  name: z.string().check(z.trim(), z.regex(TWIN_NAME, '1 to 64 characters of one line')),
})

export type RenameWallet = z.output<typeof schema>

const ownerOf = (accountId: number) => `account:${accountId}` as const

export const renameWalletKind: ChangeKind<RenameWallet> = {
  schema,
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
