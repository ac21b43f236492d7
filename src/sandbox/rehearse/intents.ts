import type { RehearsedCall, RehearsedPayment, RunRecord } from './record.js'

/** How sure it is that calls belong to one intention. */
export type Sureness = 'certain' | 'likely' | 'possible'

/** One thing that the application wants to pay for, and all calls and payments of a run for it. */
export interface Intent {
  readonly item: string
  readonly payer: string | null
  readonly operation: string
  readonly calls: readonly RehearsedCall[]
  readonly payments: readonly RehearsedPayment[]
  /** How many payments the run without faults makes for it. */
  readonly wanted: number
  readonly sureness: Sureness
}

/**
 * Groups the calls that pay. Calls with an identifier in common are one group, and so are those with the same operation,
 * item and payer.
 */
export function intentsOf(run: RunRecord, baseline: RunRecord): Intent[] {
  const paying = new Set([...payingOperations(run), ...payingOperations(baseline)])
  const wanted = countWanted(baseline)
  const usual = usualPlaces(run, baseline)
  const groups: { keys: Set<string>; calls: RehearsedCall[] }[] = []
  for (const shown of run.calls.filter((call) => paying.has(call.operation) && !asksForPrice(call))) {
    const call = { ...shown, payer: shown.payer ?? onlyPayer(shown, [...run.calls, ...baseline.calls]) }
    const keys = new Set([placeOf(call), ...call.identifiers])
    const joined = groups.filter((group) => [...keys].some((key) => group.keys.has(key)))
    const [first] = joined
    if (!first) {
      groups.push({ keys, calls: [call] })
      continue
    }
    for (const other of joined.slice(1)) {
      groups.splice(groups.indexOf(other), 1)
      for (const key of other.keys) first.keys.add(key)
      first.calls.push(...other.calls)
    }
    for (const key of keys) first.keys.add(key)
    first.calls.push(call)
  }
  return groups.map((group) => {
    const calls = withoutProbes(group.calls, run)
    const [{ item, payer, operation }] = calls as [RehearsedCall]
    const ids = new Set(calls.map(({ id }) => id))
    const payments = run.payments.filter(({ call }) => call !== undefined && ids.has(call))
    const places = new Set(calls.map(placeOf))
    const count = [...places].reduce((sum, place) => sum + (wanted.get(usual.get(place) ?? place) ?? 0), 0)
    return { item, payer, operation, calls, payments, wanted: count, sureness: surenessOf(calls, count) }
  })
}

/** Payments that moved value, or will. */
export const charged = (payments: readonly RehearsedPayment[]): readonly RehearsedPayment[] =>
  payments.filter(({ status }) => status !== 'failed' && status !== 'reversed')

/** A call without a payment, which gets the offers of a 402, is no try to pay. */
const asksForPrice = ({ status, identifiers }: RehearsedCall): boolean => status === 402 && identifiers.length === 0

/** Where payments are signed, a call that carries none asked for the price, whatever became of it. */
function withoutProbes(calls: readonly RehearsedCall[], { payments }: RunRecord): readonly RehearsedCall[] {
  if (!calls.some(({ identifiers }) => identifiers.some(isOfSignature))) return calls
  return calls.filter(({ id, identifiers }) => identifiers.length > 0 || payments.some(({ call }) => call === id))
}

/** Whether an identifier comes with a signature, which stands for a payment by itself. */
export const isOfSignature = (identifier: string): boolean => /^(?:eip3009|mpp):/.test(identifier)

/** An application that wants the same thing several times is hard to tell from one that pays for it twice. */
function surenessOf(calls: readonly RehearsedCall[], wanted: number): Sureness {
  if (wanted > 1) return 'likely'
  const [first] = calls
  const isShared = first?.identifiers.some((each) => calls.every(({ identifiers }) => identifiers.includes(each)))
  return wanted === 1 || isShared ? 'certain' : 'possible'
}

/** Who pays, although a fault answered before the service knew. Null if it may be one of several. */
function onlyPayer({ operation, item }: RehearsedCall, calls: readonly RehearsedCall[]): string | null {
  const same = calls.filter((call) => call.operation === operation && call.item === item && call.payer !== null)
  const payers = new Set(same.map(({ payer }) => payer))
  return payers.size === 1 ? ([...payers][0] ?? null) : null
}

export const placeOf = ({ operation, item, payer }: RehearsedCall): string => `${operation} ${item} ${payer}`

/**
 * A path may hold the id of what an earlier call made, such as a cart, and the id may be another one in each run. So places
 * of one operation and payer that only one of both runs has are the same, in their order.
 */
function usualPlaces(run: RunRecord, baseline: RunRecord): Map<string, string> {
  const [here, there] = [new Map(run.calls.map(placed)), new Map(baseline.calls.map(placed))]
  const free = [...there].filter(([place]) => !here.has(place))
  const found = new Map<string, string>()
  for (const [place, call] of here) {
    if (there.has(place)) continue
    const at = free.findIndex(([, other]) => other.operation === call.operation && other.payer === call.payer)
    const [same] = at < 0 ? [] : free.splice(at, 1)
    if (same) found.set(place, same[0])
  }
  return found
}

const placed = (call: RehearsedCall) => [placeOf(call), call] as const

function payingOperations({ calls, payments }: RunRecord): string[] {
  const ids = new Set(payments.map(({ call }) => call))
  return calls.filter(({ id }) => ids.has(id)).map(({ operation }) => operation)
}

function countWanted({ calls, payments }: RunRecord): Map<string, number> {
  const counts = new Map<string, number>()
  for (const call of calls) {
    const paid = charged(payments).filter((payment) => payment.call === call.id).length
    counts.set(placeOf(call), (counts.get(placeOf(call)) ?? 0) + paid)
  }
  return counts
}
