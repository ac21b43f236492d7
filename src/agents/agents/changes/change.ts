import { problem } from '../../../base/problem.js'
import { required } from '../../../base/required.js'
import { quoted } from '../../../base/text/quotation.js'
import type { Agent, ApprovalTerms } from '../../../consent/approvals/approval.js'
import type { ServiceContext } from '../../../http/context.js'
import { checkNoCardData } from '../../../http/fields/card-data.js'
import { fieldProblem, fieldRefused } from '../../../http/fields/field.js'
import { AccountName, Descriptor, itemFields, profileFields, z } from '../../../http/fields/schema.js'
import { accountOf, sellerName, updateAccount } from '../../../identity/accounts/account.js'
import { profileOf, updateBillingProfile } from '../../../market/billing/invoice.js'
import { createCatalogItem, ownItem, setArchived, showItem, updateCatalogItem } from '../../../market/catalog/item.js'
import { commodityOf, showCommodity } from '../../../money/commodities/commodity.js'
import {
  type DigitalQuantityRow,
  firstQuantity,
  quantityOf,
} from '../../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../../money/ledger/amount.js'
import { createTwin, nameTwin, ownTwin, readTwin, TWIN_NAME, twinName } from '../../../money/twins/twin.js'
import type { Reader, Writer } from '../../../storage/storage.js'
import { Transaction } from '../../../storage/transaction.js'

/** A change as the user approved it. */
export type AccountChange = { readonly kind: string; readonly [field: string]: unknown }

/** Ids of created rows by kind. */
export type Made = Readonly<Record<string, number>>

/** A change to apply to the account that the user granted. */
export interface Work<C> {
  readonly accountId: number
  readonly change: C
  /** Ids from the steps before. */
  readonly made: Made
  readonly actor: string
  readonly at: number
}

/** Returns the ids that it created. Throws what the changed feature throws. A method, so that steps of each kind are steps. */
export type ChangeStep<C> = {
  make(tx: Writer, work: Work<C>, service: ServiceContext): Promise<Made | undefined>
}['make']

/** What the user sees of a change apart from its fields. */
export interface ChangeView {
  /** What is changed, and fields in other words. */
  readonly about: {
    readonly item?: { readonly id: number; readonly name: string }
    readonly new_price?: string
    readonly [field: string]: unknown
  }
  /** The current values of the fields. Only the user sees them. */
  readonly now: Readonly<Record<string, unknown>>
  readonly summary: string
}

export interface ChangeKind<C extends AccountChange> {
  /** Strict: refuses fields that the user would not see. */
  readonly schema: z.ZodMiniType<C>
  /** Checks the fields together. Throws `field_invalid`. */
  check?(change: C): void
  /** Fills in the defaults, so that the user sees what they approve. */
  settle?(tx: Reader, change: C): Promise<C>
  view(tx: Reader, work: Pick<Work<C>, 'accountId' | 'change'>): Promise<ChangeView>
  readonly steps: readonly ChangeStep<C>[]
  /** Whether all steps run in one transaction. Otherwise earlier ones stay if a later one fails. */
  readonly isWhole: boolean
  result(
    tx: Reader,
    work: Pick<Work<C>, 'accountId' | 'change' | 'made'>,
    service: Pick<ServiceContext, 'options'>,
  ): Promise<Readonly<Record<string, unknown>>>
}

/** Returns the fields of a change, without its kind. */
export const fieldsOf = (change: AccountChange, except: readonly string[] = []): [name: string, value: unknown][] =>
  Object.entries(change).filter(([name, value]) => name !== 'kind' && !except.includes(name) && value !== undefined)

const labels: Readonly<Record<string, string>> = {
  businessName: 'business name',
  descriptor: 'receipt line',
  service_method: 'method',
  external_endpoint: 'endpoint',
  service_schema: 'inputs',
}

/** Names fields for people: `name, price and receipt line`. */
export function listed(fields: readonly string[]): string {
  const names = fields.map((field) => labels[field] ?? field.replaceAll('_', ' '))
  const last = names.pop() ?? ''
  return names.length > 0 ? `${names.join(', ')} and ${last}` : last
}

/** Writes a price for people: a string is in smallest units, a number in the digital quantity. Throws `amount_invalid`. */
export const priceWords = (quantity: DigitalQuantityRow, price: string | number): string =>
  moneyText(typeof price === 'string' ? BigInt(price) : toUnits(price, quantity.decimals), quantity)

const { business_name: _, ...addressFields } = profileFields
const choice = z.optional(z.boolean())
const emptyChange = () => fieldRefused('change', 'needs at least one field to change')

/** The names of `PUT /v4/account`, and the addresses of a billing profile. */
const updateAccountSchema = z.strictObject({
  kind: z.literal('update_account'),
  name: z.optional(AccountName),
  businessName: z.optional(AccountName),
  ...addressFields,
})

type UpdateAccount = z.output<typeof updateAccountSchema>

const updateAccountKind: ChangeKind<UpdateAccount> = {
  schema: updateAccountSchema,
  isWhole: true,
  steps: [
    async (tx, { accountId, change: { name, businessName }, actor, at }) => {
      if (name !== undefined || businessName !== undefined)
        await updateAccount(tx, accountId, { name, businessName, actor, at })
      return undefined
    },
    async (tx, { accountId, change: { kind: _, name: __, businessName: ___, ...profile }, actor, at }) => {
      if (fieldsOf({ kind: '', ...profile }).length > 0) await updateBillingProfile(tx, accountId, profile, at, actor)
      return undefined
    },
  ],

  check(change) {
    checkNoCardData(change)
    if (fieldsOf(change).length > 0) return
    throw emptyChange()
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

type RenameWallet = z.output<typeof renameWalletSchema>
const ownerOf = (accountId: number) => `account:${accountId}` as const

const renameWalletKind: ChangeKind<RenameWallet> = {
  schema: renameWalletSchema,
  isWhole: true,
  steps: [
    async (tx, { accountId, change, actor, at }) => {
      const twin = await ownTwin(tx, ownerOf(accountId), change.hostname)
      await nameTwin(tx, twin, { name: change.name, actor, at })
      return undefined
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

const updateItemSchema = z.strictObject({
  kind: z.literal('update_item'),
  catalog_item_id: z.int(),
  name: z.optional(itemFields.name),
  description: z.optional(itemFields.description),
  descriptor: z.optional(Descriptor),
  price: z.optional(z.number()),
  service_method: z.optional(itemFields.service_method),
  external_endpoint: z.optional(z.string()),
  service_schema: z.optional(itemFields.service_schema),
  ...{ active: choice, archived: choice, private: choice, featured: choice },
})

type UpdateItem = z.output<typeof updateItemSchema>
const NOT_CHANGED = ['catalog_item_id', 'archived']

const setArchive =
  (archived: boolean): ChangeStep<UpdateItem> =>
  async (tx, { accountId, change, actor, at }) => {
    const id = change.catalog_item_id
    if (change.archived === archived) await setArchived(tx, { accountId, id, archived, actor, at })
    return undefined
  }

const updateItemKind: ChangeKind<UpdateItem> = {
  schema: updateItemSchema,
  isWhole: true,
  // An archived item cannot be changed, so it is restored first or archived last.
  steps: [
    setArchive(false),
    async (tx, { accountId, change, actor, at }, service) => {
      const { catalog_item_id: id, kind: _, archived: __, ...fields } = change
      if (fieldsOf(change, NOT_CHANGED).length > 0)
        await updateCatalogItem(tx, { ...fields, accountId, id, actor, at }, service)
      return undefined
    },
    setArchive(true),
  ],

  check(change) {
    if (fieldsOf(change, ['catalog_item_id']).length === 0) throw emptyChange()
    if (change.archived === undefined || change.active !== true) return
    const detail = change.archived
      ? 'An archived item is inactive. Leave "active" out.'
      : 'A restored item is inactive. Activate it with a second change.'
    throw problem('field_invalid', { detail, fields: { field: 'change.active' } })
  },

  async view(tx, { accountId, change }) {
    const row = await ownItem(tx, accountId, change.catalog_item_id)
    const shown: Record<string, unknown> = { ...(await showItem(tx, row)), external_endpoint: row.external_endpoint }
    const fields = fieldsOf(change, ['catalog_item_id'])
    const now = Object.fromEntries(fields.map(([name]) => [name, shown[name]]))
    const { id, name } = row
    const told = { now, summary: `Change the item ${quoted(name)}: ${listed(fields.map(([field]) => field))}` }
    const { price } = change
    if (price === undefined) return { ...told, about: { item: { id, name } } }
    const { cost, dq } = await commodityOf(tx, row.hash)
    const quantity = await quantityOf(tx, dq)
    const [before, after] = [priceWords(quantity, cost), priceWords(quantity, price)]
    return {
      about: { item: { id, name }, dq, new_price: after },
      now: { ...now, price: before, dq },
      summary: `${told.summary} (to ${after})`,
    }
  },

  result: (tx, { accountId, change }) => itemResult(tx, accountId, change.catalog_item_id),
}

async function itemResult(tx: Reader, accountId: number, id: number) {
  const row = await ownItem(tx, accountId, id)
  return { item: await showItem(tx, row), commodity: await showCommodity(tx, await commodityOf(tx, row.hash)) }
}

const createItemSchema = z.strictObject({
  kind: z.literal('create_item'),
  ...itemFields,
  price: z.number(),
  external_endpoint: z.string(),
  descriptor: z.optional(Descriptor),
  dq: z.optional(z.string()),
  ...{ active: choice, private: choice, featured: choice },
})

type CreateItem = z.output<typeof createItemSchema>

/** The digital quantity, which `settle` fills in. */
const dqOf = ({ dq }: CreateItem): string => required(dq, 'the digital quantity of the new item')

/** Has no dispatch parameters: their values are secret, and approvals are shown to people. */
const createItemKind: ChangeKind<CreateItem> = {
  schema: createItemSchema,
  isWhole: false,
  steps: [
    async (tx, { accountId, change, at }, service) => {
      return { twin_id: (await createTwin(tx, { owner: ownerOf(accountId), dq: dqOf(change), at }, service)).id }
    },
    async (tx, { accountId, change: { kind: _, ...fields }, made, actor, at }, service) => {
      const item = { ...fields, twin_id: made.twin_id, accountId, actor, at }
      return { item_id: (await createCatalogItem(tx, item, service)).id }
    },
  ],

  async settle(tx, { active = true, private: isPrivate = false, featured = false, ...change }) {
    const { id: dq } = change.dq === undefined ? await firstQuantity(tx) : await quantityOf(tx, change.dq)
    return { ...change, dq, active, private: isPrivate, featured }
  },

  async view(tx, { change }) {
    const { name, price } = change
    const new_price = priceWords(await quantityOf(tx, dqOf(change)), price)
    return { about: { new_price }, now: {}, summary: `Sell ${quoted(name)} for ${new_price}, paid into a new wallet` }
  },

  result: (tx, { accountId, made }) => itemResult(tx, accountId, required(made.item_id, 'the item that was made')),
}

const kinds: ReadonlyMap<string, ChangeKind<AccountChange>> = new Map<string, ChangeKind<AccountChange>>([
  ['update_item', updateItemKind],
  ['create_item', createItemKind],
  ['rename_wallet', renameWalletKind],
  ['update_account', updateAccountKind],
])

const changeKinds = [...kinds.keys()]

export const kindOf = ({ kind }: Pick<AccountChange, 'kind'>): ChangeKind<AccountChange> =>
  required(kinds.get(kind), `the kind of change ${kind}`)

function changeOf(sent: Readonly<Record<string, unknown>>): AccountChange {
  const kind = sent.kind
  if (typeof kind !== 'string' || !kinds.has(kind))
    throw fieldRefused('change.kind', `must be one of ${changeKinds.join(', ')}`)
  const { schema, check } = kindOf({ kind })
  const checked = schema.safeParse(sent)
  if (!checked.success) throw fieldProblem(schema, checked.error.issues, sent, 'change')
  check?.(checked.data)
  return checked.data
}

/** What the user is asked to approve. Throws `account_not_granted`, `field_invalid`, `card_data_refused`, and what the steps throw. */
export async function accountChangeTerms(
  tx: Writer,
  { account_id: accountId, client_id: actor }: Pick<Agent, 'account_id' | 'client_id'>,
  sent: Readonly<Record<string, unknown>>,
  service: ServiceContext,
): Promise<ApprovalTerms> {
  if (accountId === null) throw problem('account_not_granted')
  const asked = changeOf(sent)
  const kind = kindOf(asked)
  const change = (await kind.settle?.(tx, asked)) ?? asked
  const { about, now, summary } = await kind.view(tx, { accountId, change })
  await rehearseChange(tx, kind.steps, { accountId, change, made: {}, actor, at: service.clock.now() }, service)
  const account = { id: accountId, name: sellerName(await accountOf(tx, accountId)) }
  return { kind: 'account_change', detail: { account, ...about, change }, now, summary }
}

type Steps = ChangeKind<AccountChange>['steps']

/** Runs steps without storing anything. Throws what they throw. */
export const rehearseChange = (tx: Writer, steps: Steps, work: Work<AccountChange>, service: ServiceContext) =>
  makeSteps(new Transaction(tx), steps, work, service)

/** Runs steps, and returns the ids of everything created so far. */
export async function makeSteps(tx: Writer, steps: Steps, work: Work<AccountChange>, service: ServiceContext) {
  let { made } = work
  for (const step of steps) made = { ...made, ...(await step(tx, { ...work, made }, service)) }
  return made
}
