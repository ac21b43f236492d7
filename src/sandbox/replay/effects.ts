import { digitalQuantities } from '../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../money/ledger/amount.js'
import { movements } from '../../money/ledger/movement.js'
import type { Reader } from '../../storage/storage.js'
import type { EffectKind, Entry } from '../onion/entry.js'

/** A movement that a request caused. */
export interface CausedMovement {
  /** `payment` and so on. */
  readonly kind: string
  /** Of the digital quantity, with decimals. */
  readonly amount: number
  readonly dq: string
}

/** How often a request and its repetition caused effects of one kind. */
export interface EffectCount {
  readonly kind: EffectKind
  readonly was: number
  readonly is: number
}

/** What a request and its repetition caused. */
export interface ComparedEffects {
  /** Whether both caused the same. */
  readonly same: boolean
  readonly counts: EffectCount[]
  /** `was` is null if the state no longer has the movements. */
  readonly movements: { readonly was: CausedMovement[] | null; readonly is: CausedMovement[] }
}

/** Deliveries and timers that follow from a request run later, so they are not compared. */
const LATER: ReadonlySet<EffectKind> = new Set(['entry'])

type Caused = Pick<Entry, 'caused'>

export function compareEffects(
  was: Caused & { readonly movements: CausedMovement[] | null },
  is: Caused & { readonly movements: CausedMovement[] },
): ComparedEffects {
  const kinds = new Set([...was.caused, ...is.caused].map(({ kind }) => kind).filter((kind) => !LATER.has(kind)))
  const count = ({ caused }: Caused, kind: EffectKind) => caused.filter((effect) => effect.kind === kind).length
  const counts = [...kinds].map((kind) => ({ kind, was: count(was, kind), is: count(is, kind) }))
  const moved = { was: was.movements, is: is.movements }
  const sameMoves = moved.was === null || JSON.stringify(moved.was) === JSON.stringify(moved.is)
  return { same: sameMoves && counts.every((each) => each.was === each.is), counts, movements: moved }
}

/** The movements of an entry. Null if the state no longer has one of them. */
export async function movementsOf(tx: Reader, { caused }: Caused): Promise<CausedMovement[] | null> {
  const found: CausedMovement[] = []
  for (const { kind, id } of caused) {
    if (kind !== 'movement') continue
    const row = typeof id === 'number' ? await tx.get(movements, id) : undefined
    const quantity = row && (await tx.get(digitalQuantities, row.dq))
    if (!row || !quantity) return null
    found.push({ kind: row.kind, amount: toAmount(row.amount, quantity.decimals), dq: row.dq })
  }
  return found
}
