import { drawn } from '../faults/armed-faults.js'
import type { Fault } from '../onion/fault.js'
import type { RunRecord } from './record.js'
import { MCP_OPERATIONS } from './record-run.js'

/** What may happen to a call. Its client sees the same, or nearly, for several of them. */
export type RehearsedFault =
  | 'lost_before'
  | 'lost_after'
  | 'error_before'
  | 'error_after'
  | 'slow'
  | 'twice'
  | 'price_changed'
  | 'token_expired'
  | 'restart'
  | 'pending'
  | 'refused'

/** A fault at the nth call of an operation, counted from 1. */
export interface PlannedFault {
  readonly kind: RehearsedFault
  readonly operation: string
  readonly nth: number
  /** How many calls before it are refused without faults. Absent if none is. */
  readonly refusedBefore?: number
}

/** The faults of one run. Empty: a run without faults. */
export type FaultPlan = readonly PlannedFault[]

/** Retries with a key are safe after each of these. */
const ofPayments: readonly RehearsedFault[] = [
  ...(['lost_after', 'error_before', 'price_changed', 'twice', 'lost_before', 'pending', 'refused'] as const),
]
const ofChanges: readonly RehearsedFault[] = ['error_after', 'slow', 'token_expired']
const ofReads: readonly RehearsedFault[] = ['lost_before', 'error_before', 'token_expired', 'slow']

interface FaultableCall {
  readonly place: Omit<PlannedFault, 'kind'>
  readonly pays: boolean
  readonly isRead: boolean
  readonly isRefused: boolean
  readonly hasPrice: boolean
  readonly isSigned: boolean
  readonly isIdentified: boolean
}

/** The calls of the run without faults to which one can happen: those that pay first. */
function faultableCalls({ calls, payments }: RunRecord): FaultableCall[] {
  const [counts, refusals] = [new Map<string, number>(), new Map<string, number>()]
  const found = calls.map(({ id, operation, method, outcome, isSigned, identifiers }) => {
    const nth = (counts.get(operation) ?? 0) + 1
    counts.set(operation, nth)
    const pays = payments.some(({ call }) => call === id)
    const isRefused = outcome === 'refused'
    const refusedBefore = refusals.get(operation) ?? 0
    if (isRefused && !MCP_OPERATIONS.has(operation)) refusals.set(operation, refusedBefore + 1)
    const hasPrice = operation === PAYMENT || ITEM_CALLS.has(operation)
    const isIdentified = identifiers.length > 0
    const place = { operation, nth, ...(refusedBefore > 0 && { refusedBefore }) }
    return { place, pays, isRead: method === 'GET' && !pays, isRefused, hasPrice, isSigned, isIdentified }
  })
  return [...found.filter(({ pays }) => pays), ...found.filter(({ pays }) => !pays)]
}

interface PlanOptions {
  readonly restart?: boolean
  readonly without?: readonly RehearsedFault[] | undefined
}

function faultsOf(call: FaultableCall, { restart = false, without = [] }: PlanOptions): RehearsedFault[] {
  const { place, pays, isRead, isRefused, hasPrice, isSigned, isIdentified } = call
  const kinds =
    isRead || isRefused ? ofReads : [...(pays ? ofPayments : (['lost_after', 'error_before'] as const)), ...ofChanges]
  const possible = kinds.filter(
    (kind) =>
      (kind !== 'price_changed' || hasPrice) &&
      (kind !== 'token_expired' || isSigned) &&
      (kind !== 'pending' || (isIdentified && !MCP_OPERATIONS.has(place.operation))) &&
      (kind !== 'refused' || place.operation === SETTLE) &&
      (!isRefused || isBefore(kind)) &&
      !without.includes(kind),
  )
  return restart && pays ? [...possible, 'restart'] : possible
}

const PAYMENT = 'createPayment'
const ITEM_CALLS: ReadonlySet<string> = new Set(['callCatalogItem', 'callCatalogItemByGet'])

/** Every call with every fault that it can meet, those of payments first. */
export const singlePlans = (baseline: RunRecord, options: PlanOptions = {}): FaultPlan[] =>
  faultableCalls(baseline).flatMap((call) => faultsOf(call, options).map((kind) => [{ kind, ...call.place }]))

/** Pairs of single faults in an order that the seed draws: first those whose two kinds no pair before has had. */
export function pairPlans(singles: readonly FaultPlan[], seed: number): FaultPlan[] {
  const faults = singles.flat().filter(({ kind }) => kind !== 'restart')
  const pairs = faults.flatMap((first) =>
    faults.filter((second) => !belies(second, first)).map((second): FaultPlan => [first, followedBy(first, second)]),
  )
  const shuffled = pairs
    .map((pair, at) => ({ pair, rank: drawn(seed, at + 1) }))
    .sort((one, other) => one.rank - other.rank)
    .map(({ pair }) => pair)
  const tried = new Set<string>()
  const isNew = (pair: FaultPlan) => {
    const kinds = pair.map(({ kind }) => kind).join()
    return !tried.has(kinds) && tried.add(kinds) !== undefined
  }
  const fresh = shuffled.filter(isNew)
  return [...fresh, ...shuffled.filter((pair) => !fresh.includes(pair))]
}

/**
 * Faults of the calls that only a run with a fault makes, such as a look at the list of payments. Each happens once behind a
 * fault after which something was done, and then once behind another one.
 */
export function followingPlans(
  runs: readonly { readonly plan: FaultPlan; readonly run: RunRecord }[],
  baseline: RunRecord,
  options: PlanOptions = {},
): FaultPlan[] {
  const known = new Set(baseline.calls.map(({ operation }) => operation))
  const tried = new Set<string>()
  const isBeforeAll = (plan: FaultPlan) => plan.every(({ kind }) => isBefore(kind))
  return runs
    .toSorted((one, other) => Number(isBeforeAll(one.plan)) - Number(isBeforeAll(other.plan)))
    .flatMap(({ plan, run }) =>
      faultableCalls(run)
        .filter(({ place }) => !known.has(place.operation))
        .flatMap((call) => faultsOf(call, options).map((kind): FaultPlan => [...plan, { kind, ...call.place }]))
        .filter((following) => {
          const { kind, operation } = following.at(-1) as PlannedFault
          const key = `${isBeforeAll(plan)} ${kind} ${operation}`
          return kind !== 'restart' && !tried.has(key) && tried.add(key) !== undefined
        }),
    )
}

/** A refusal after a payment would be a lie, and no fault of the client. */
const belies = (second: PlannedFault, first: PlannedFault): boolean =>
  second.kind === 'refused' && second.operation === first.operation

/** A second fault of the same call happens to the call that repeats it. */
const followedBy = (first: PlannedFault, second: PlannedFault): PlannedFault =>
  first.operation === second.operation && first.nth === second.nth ? { ...second, nth: second.nth + 1 } : second

export const keyOfPlan = (plan: FaultPlan): string =>
  plan.map(({ kind, operation, nth }) => `${kind}@${operation}#${nth}`).join('+')

const isBefore = (kind: RehearsedFault): boolean => faults[kind].at === 'before'

/** What the sandbox does for each kind. A client that waits as long as `Retry-After` says makes no run slow. */
const faults: Readonly<Record<RehearsedFault, Pick<Fault, 'at' | 'do'>>> = {
  lost_before: { at: 'before', do: { drop: true } },
  lost_after: { at: 'after_commit', do: { drop: true } },
  error_before: { at: 'before', do: { status: 503, retry_after: 0 } },
  error_after: { at: 'after_commit', do: { status: 503, retry_after: 0 } },
  slow: { at: 'after_commit', do: { delay_ms: 1 } },
  twice: { at: 'after_commit', do: { duplicate: true } },
  price_changed: { at: 'before', do: { raise_price: 10 } },
  token_expired: {
    at: 'before',
    do: { status: 401, body: { code: 'token_invalid', error: 'The access token has expired.' } },
  },
  restart: { at: 'after_commit', do: { drop: true } },
  pending: {
    at: 'after_commit',
    do: {
      status: 409,
      retry_after: 0,
      body: { code: 'idempotency_in_progress', error: 'A call with this key is still running.' },
    },
  },
  refused: {
    at: 'before',
    do: {
      status: 200,
      body: { success: false, errorReason: 'unexpected_settle_error', transaction: '', network: 'eip155:84532' },
    },
  },
}

/** Its answers say in their bodies whether it worked. */
const SETTLE = 'settleX402Payment'

const isPendingSettlement = ({ kind, operation }: PlannedFault): boolean => kind === 'pending' && operation === SETTLE

function actionOf(planned: PlannedFault, slowMs: number): Fault['do'] {
  if (isPendingSettlement(planned)) return { x402: 'settlement_pending' }
  return planned.kind === 'slow' ? { delay_ms: slowMs } : faults[planned.kind].do
}

/** The faults to arm for a plan. */
export function faultsFor(plan: FaultPlan, { slowMs }: { readonly slowMs: number }): Fault[] {
  return plan.map((planned, at) => ({
    id: `rehearse_${at + 1}_${planned.kind}`,
    match: { operation_id: planned.operation },
    at: faults[planned.kind].at,
    do: actionOf(planned, slowMs),
    every: Math.max(
      1,
      planned.nth - plan.slice(0, at).filter((earlier) => hides(earlier, planned)).length - uncounted(planned),
    ),
    // Who asks again about a settlement that was pending gets its receipt, even where a nonce settles only once.
    times: isPendingSettlement(planned) ? 2 : 1,
  }))
}

/**
 * A refusal is no commit, so the engine counts none for what happens after one. Nor does it count the calls of an item that
 * carry no payment, whose refusals are its offers, for a price that rises.
 */
function uncounted({ kind, operation, refusedBefore = 0 }: PlannedFault): number {
  const isCounted = kind === 'price_changed' ? !ITEM_CALLS.has(operation) : isBefore(kind)
  return isCounted ? 0 : refusedBefore
}

/** Whether the engine does not count the call of an earlier fault for a later one: one fault happens at a point. */
const hides = (earlier: PlannedFault, later: PlannedFault): boolean =>
  earlier.operation === later.operation &&
  earlier.nth < later.nth &&
  (isBefore(earlier.kind) ? isBefore(later.kind) || earlier.kind !== 'price_changed' : !isBefore(later.kind))

/** The kind of the fault with this id. Undefined if no plan armed it. */
export const kindOfFault = (id: string | undefined): RehearsedFault | undefined =>
  /^rehearse_\d+_(\w+)$/.exec(id ?? '')?.[1] as RehearsedFault | undefined
