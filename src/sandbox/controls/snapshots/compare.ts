import type { ServiceContext } from '../../../http/context.js'
import { digitalQuantities } from '../../../money/digital-quantities/digital-quantity.js'
import { toAmount } from '../../../money/ledger/amount.js'
import { type BalanceRow, balances } from '../../../money/ledger/balance.js'
import { twins } from '../../../money/twins/twin.js'
import type { Row, State } from '../../../storage/storage.js'
import { sandboxOf } from '../../onion/context.js'
import { type ShownRow, withoutSecrets } from './shown-row.js'

export interface ComparedRows {
  readonly added: readonly ShownRow[]
  readonly removed: readonly ShownRow[]
  readonly changed: readonly { readonly was: ShownRow; readonly is: ShownRow }[]
  /** How many more differ than are shown. */
  readonly more: number
}

/** What differs between two states. */
export interface Comparison {
  /** By collection. */
  readonly rows: Readonly<Record<string, ComparedRows>>
  /** In the digital quantity. */
  readonly balances: readonly {
    readonly hostname: string
    readonly dq: string
    readonly was: number
    readonly is: number
  }[]
}

/** How many rows of a collection are shown. */
const MOST_ROWS_SHOWN = 100

/** Compares two states. Shows at most 100 rows of a collection, and no secrets. */
export function compareStates(before: State, after: State, service: ServiceContext): Comparison {
  const known = new Map(sandboxOf(service).collections.map((collection) => [collection.name, collection]))
  const rows: Record<string, ComparedRows> = {}
  for (const name of [...new Set([...Object.keys(before.rows), ...Object.keys(after.rows)])].sort()) {
    const collection = known.get(name)
    if (!collection) continue
    const differing = differenceOf(before.rows[name] ?? [], after.rows[name] ?? [], (row) =>
      withoutSecrets(collection, row),
    )
    if (differing) rows[name] = differing
  }
  return { rows, balances: balanceDifferences(before, after) }
}

function differenceOf(
  before: readonly Row[],
  after: readonly Row[],
  show: (row: Row) => ShownRow,
): ComparedRows | undefined {
  const shown = { added: [] as ShownRow[], removed: [] as ShownRow[], changed: [] as { was: ShownRow; is: ShownRow }[] }
  let count = 0
  const was = new Map(before.map((row) => [row.id, row]))
  for (const row of after) {
    const old = was.get(row.id)
    was.delete(row.id)
    if (old && isSame(old, row)) continue
    if (++count > MOST_ROWS_SHOWN) continue
    if (old) shown.changed.push({ was: show(old), is: show(row) })
    else shown.added.push(show(row))
  }
  for (const row of was.values()) if (++count <= MOST_ROWS_SHOWN) shown.removed.push(show(row))
  return count === 0 ? undefined : { ...shown, more: Math.max(0, count - MOST_ROWS_SHOWN) }
}

/** Forks share the rows that neither has changed. */
const isSame = (a: Row, b: Row): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

function balanceDifferences(before: State, after: State): Comparison['balances'] {
  const was = new Map(balancesIn(before).map((row) => [row.id, row]))
  const is = new Map(balancesIn(after).map((row) => [row.id, row]))
  const hostnames = new Map(
    [before, after].flatMap(({ rows }) =>
      (rows[twins.name] ?? []).map((row) => [row.id, comparedText(row, 'hostname')]),
    ),
  )
  const decimals = new Map(
    [before, after].flatMap(({ rows }) =>
      (rows[digitalQuantities.name] ?? []).map((row) => [row.id, Number(comparedText(row, 'decimals'))]),
    ),
  )
  const differing: Comparison['balances'][number][] = []
  for (const id of new Set([...was.keys(), ...is.keys()])) {
    const row = is.get(id) ?? was.get(id)
    const [old = '0', now = '0'] = [was.get(id)?.amount, is.get(id)?.amount]
    if (!row || old === now) continue
    const amountOf = (units: string) => toAmount(BigInt(units), decimals.get(row.dq) ?? 0)
    differing.push({ hostname: hostnames.get(row.twin_id) ?? '', dq: row.dq, was: amountOf(old), is: amountOf(now) })
  }
  return differing
}

// An exported state holds only rows of the collection under its name.
const balancesIn = ({ rows }: State) => (rows[balances.name] ?? []) as readonly BalanceRow[]

const comparedText = (row: Row, field: string): string =>
  String(Object.entries(row).find(([name]) => name === field)?.[1] ?? '')
