import type { ServiceContext } from '../../../http/context.js'
import type { z } from '../../../http/fields/schema.js'
import type { DigitalQuantityRow } from '../../../money/digital-quantities/digital-quantity.js'
import { moneyText, toUnits } from '../../../money/ledger/amount.js'
import type { Reader, Writer } from '../../../storage/storage.js'

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
