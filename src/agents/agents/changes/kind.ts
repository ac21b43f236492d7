import type { ServiceContext } from '../../../http/context.js'
import type { z } from '../../../http/fields/schema.js'
import type { Reader, Writer } from '../../../storage/storage.js'

/** A change as it was approved. */
export interface AccountChange {
  readonly kind: string
  readonly [field: string]: unknown
}

/** Ids of what was made, by what it is. */
export type Made = Readonly<Record<string, number>>

/** A change to be made to the account that the user granted. */
export interface Work<C> {
  readonly accountId: number
  readonly change: C
  /** By the steps before. */
  readonly made: Made
  /** Who makes it: the agent's client id. */
  readonly actor: string
  readonly at: number
}

export interface ChangeStep<C> {
  readonly name: string
  /** Gives what it made. Throws what the noun that it changes throws. */
  make(tx: Writer, work: Work<C>, service: ServiceContext): Promise<Made | undefined>
}

/** What the user is told of a change beside its own fields. */
export interface ChangeView {
  /** What is changed, and what of the change people read in other words. */
  readonly about: {
    readonly item?: { readonly id: number; readonly name: string }
    readonly new_price?: string
    readonly [field: string]: unknown
  }
  /** What the change replaces, by its fields: for the user alone. */
  readonly now: Readonly<Record<string, unknown>>
  /** One line. */
  readonly summary: string
}

export interface ChangeKind<C extends AccountChange> {
  /** Strict: what the user is not asked about is not taken. */
  readonly schema: z.ZodMiniType<C>
  /** What the fields say together. Throws `field_invalid`. */
  check?(change: C): void
  /** Writes the defaults into a change, so that the user sees what they approve. */
  settle?(tx: Reader, change: C): Promise<C>
  view(tx: Reader, work: Pick<Work<C>, 'accountId' | 'change'>): Promise<ChangeView>
  /** In order. */
  readonly steps: readonly ChangeStep<C>[]
  /** Whether all steps are one transaction; else each is one, and what was made stays where a later one fails. */
  readonly isWhole: boolean
  result(tx: Reader, work: Pick<Work<C>, 'accountId' | 'change' | 'made'>): Promise<Readonly<Record<string, unknown>>>
}

/** The fields of a change that say what becomes of something. */
export const fieldsOf = (change: AccountChange, except: readonly string[] = []): [name: string, value: unknown][] =>
  Object.entries(change).filter(([name, value]) => name !== 'kind' && !except.includes(name) && value !== undefined)
