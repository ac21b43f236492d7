import { holdsToken } from '../journal/redact.js'
import { charged, type Intent, intentsOf, isOfSignature, placeOf, type Sureness } from './intents.js'
import { kindOfFault } from './plan.js'
import type { RehearsedCall, RunRecord } from './record.js'

/** What went wrong. */
export type VerdictName =
  | 'paid_twice'
  | 'charged_more'
  | 'paid_undelivered'
  | 'delivered_unpaid'
  | 'left_pending'
  | 'kept_used_key'
  | 'gave_up'
  | 'leaked_secret'

/** What the client does that leads to it. */
export type ClientHabit =
  | 'sends_no_key'
  | 'new_key_each_try'
  | 'signs_while_pending'
  | 'pays_before_price'
  | 'ignores_changed_price'
  | 'keeps_key_after_refusal'
  | 'gives_up'
  | 'never_polls'
  | 'trusts_the_status'
  | 'delivers_anyway'
  | 'loses_the_answer'
  | 'logs_secrets'

/** A fault of the client in one run. */
export interface Verdict {
  readonly name: VerdictName
  readonly habit: ClientHabit
  readonly operation: string
  readonly sureness: Sureness
  readonly calls: number
  readonly payments: number
  readonly delivered: number
}

/** The verdicts about a run, the worst first. `baseline`: the run without faults. */
export function judgeRun(run: RunRecord, baseline: RunRecord): Verdict[] {
  const intents = intentsOf(run, baseline)
  const rules = [paidTwice, chargedMore, paidUndelivered, leftPending, keptUsedKey, gaveUp]
  const found = intents.flatMap((intent) =>
    rules.flatMap((rule) => {
      const habit = rule(intent, run, baseline)
      return habit === undefined ? [] : [verdictOf(habit, intent)]
    }),
  )
  const ofRun = [...paidElsewhere(intents, run, baseline), ...deliveredUnpaid(intents, run, baseline)]
  return [...found, ...ofRun, ...leakedSecret(run)].sort(
    (one, other) => order.indexOf(one.name) - order.indexOf(other.name),
  )
}

/** Whether a verdict has worse consequences than another one. */
export const isWorse = (one: Verdict, other: Verdict): boolean => order.indexOf(one.name) < order.indexOf(other.name)

const order: readonly VerdictName[] = [
  ...(['paid_twice', 'charged_more', 'paid_undelivered', 'delivered_unpaid', 'left_pending'] as const),
  ...(['kept_used_key', 'gave_up', 'leaked_secret'] as const),
]

interface Judged {
  readonly name: VerdictName
  readonly habit: ClientHabit
  /** The calls that lead to it, if they are not those that pay. */
  readonly tries?: readonly RehearsedCall[] | undefined
  readonly sureness?: Sureness
}

function verdictOf({ name, habit, tries, sureness }: Judged, intent: Intent): Verdict {
  const calls = tries ?? intent.calls
  return {
    ...{ name, habit, operation: tries?.[0]?.operation ?? intent.operation, sureness: sureness ?? intent.sureness },
    ...{ calls: calls.length, payments: charged(intent.payments).length },
    delivered: calls.filter(({ outcome }) => outcome === 'done').length,
  }
}

function paidTwice({ calls, payments, wanted }: Intent, run: RunRecord, baseline: RunRecord): Judged | undefined {
  const paid = charged(payments)
  if (paid.length <= Math.max(wanted, 1)) return undefined
  const isOneCall = new Set(paid.map(({ call }) => call)).size === 1
  const tries = isOneCall ? repeatedBefore(paid[0]?.call, run, baseline) : undefined
  return { name: 'paid_twice', habit: tryHabit(tries ?? calls), tries }
}

/**
 * The tries of a change that was made more often than without faults, such as a line that was added to a cart. It is not to
 * blame if the call that pays arrived twice.
 */
function repeatedBefore(paying: string | undefined, run: RunRecord, baseline: RunRecord) {
  const at = run.calls.findIndex(({ id }) => id === paying)
  if (kindOfFault(run.calls[at]?.fault) === 'twice') return undefined
  const before = run.calls.slice(0, at)
  const triesOf = ({ operation, item }: RehearsedCall, calls: readonly RehearsedCall[]) =>
    calls.filter((each) => each.operation === operation && each.item === item)
  const usualTimes = ({ operation }: RehearsedCall) => {
    const calls = baseline.calls.filter((each) => each.operation === operation)
    return Math.max(1, ...calls.map((each) => triesOf(each, calls).length))
  }
  const repeated = before.findLast((call) => call.method !== 'GET' && triesOf(call, before).length > usualTimes(call))
  return repeated && triesOf(repeated, before)
}

/** Paid without the client's knowledge, and then once more in another way: for a new cart, or from another wallet. */
function paidElsewhere(intents: readonly Intent[], run: RunRecord, baseline: RunRecord): Verdict[] {
  if (charged(run.payments).length <= charged(baseline.payments).length) return []
  const placeIn = (call: RehearsedCall | undefined) => run.calls.findIndex(({ id }) => id === call?.id)
  const isUnknownAt = ({ calls, payments }: Intent, place: number) => {
    const last = calls.at(-1)
    const isOpen = placeIn(last) < place && (last?.outcome === 'unknown' || last?.outcome === 'pending')
    const seen = new Set(run.calls.slice(0, place).flatMap(({ shownPayments }) => shownPayments))
    return isOpen && charged(payments).some(({ id }) => !seen.has(id))
  }
  return intents
    .filter(({ wanted, payments }) => wanted === 0 && charged(payments).length > 0)
    .flatMap((again): Verdict[] => {
      const lost = intents.find((each) => isUnknownAt(each, placeIn(again.calls[0])))
      if (!lost) return []
      const [calls, payments] = [
        [...lost.calls, ...again.calls],
        [...lost.payments, ...again.payments],
      ]
      const judged: Judged = { name: 'paid_twice', habit: tryHabit(calls), sureness: 'likely' }
      return [verdictOf(judged, { ...again, calls, payments })]
    })
}

function tryHabit(calls: readonly RehearsedCall[]): ClientHabit {
  if (calls.some(({ identifiers }) => identifiers.length === 0)) return 'sends_no_key'
  const isSignedAnew = calls.some(({ outcome, identifiers }, at) => {
    const next = calls[at + 1]
    return (
      outcome === 'pending' && next !== undefined && identifiers.some(isOfSignature) && !sharesAny(next, identifiers)
    )
  })
  return isSignedAnew ? 'signs_while_pending' : 'new_key_each_try'
}

const sharesAny = (call: RehearsedCall, identifiers: readonly string[]): boolean =>
  call.identifiers.some((each) => identifiers.includes(each))

/** Who states a price has seen it, but may have seen it in the refusal of another one, and have asked nobody. */
function chargedMore({ calls, payments }: Intent, run: RunRecord, baseline: RunRecord): Judged | undefined {
  for (const payment of charged(payments)) {
    const call = calls.find(({ id }) => id === payment.call)
    const usual = baseline.payments.find(({ item, payer }) => item === payment.item && payer === payment.payer)
    if (!call || !usual || BigInt(payment.amount) <= BigInt(usual.amount)) continue
    const shown = pricesBefore(run.calls, call)
    const isShown = shown.length > 0 && Math.max(...shown.slice(-1)) > Math.min(...shown)
    if (isShown || (call.statesPrice && !calls.some(({ code }) => code === 'price_changed'))) continue
    if (call.statesPrice) return { name: 'charged_more', habit: 'ignores_changed_price', sureness: 'possible' }
    return { name: 'charged_more', habit: shown.length === 0 ? 'pays_before_price' : 'ignores_changed_price' }
  }
  return undefined
}

/** The prices of its item that the client was shown before a call, in their order. */
function pricesBefore(calls: readonly RehearsedCall[], call: RehearsedCall): number[] {
  return calls
    .slice(
      0,
      calls.findIndex(({ id }) => id === call.id),
    )
    .flatMap(({ shownPrices }) => Object.entries(shownPrices))
    .filter(([name]) => call.item.includes(name))
    .map(([, price]) => price)
}

/** The money is gone, and the client never learned of it, or gave up before it could use what it paid for. */
function paidUndelivered(intent: Intent, run: RunRecord, baseline: RunRecord): Judged | undefined {
  const { calls, payments } = intent
  const paid = charged(payments).filter(({ status }) => status === 'posted')
  if (paid.length === 0 || leftPending(intent, run) || endsAsUsual(run, baseline) || isCutOff(intent, run, baseline))
    return undefined
  const isSeen = paid.some(({ id }) => run.calls.some(({ shownPayments }) => shownPayments.includes(id)))
  const isDone = calls.some(({ outcome, contradicts }) => outcome === 'done' && !contradicts)
  const isCutShort = !run.ended.isOk && run.calls.at(-1)?.outcome === 'unknown'
  if ((isSeen || isDone) && !isCutShort) return undefined
  return { name: 'paid_undelivered', habit: isSeen || isDone ? 'gives_up' : lossHabit(calls) }
}

function lossHabit(calls: readonly RehearsedCall[]): ClientHabit {
  const shared = calls[0]?.identifiers.some((each) => calls.every(({ identifiers }) => identifiers.includes(each)))
  if (!shared) return calls.length === 1 ? 'loses_the_answer' : tryHabit(calls)
  const last = calls.at(-1)?.outcome
  return last === 'unknown' || last === 'pending' ? 'gives_up' : 'loses_the_answer'
}

/** The last that the client knows of a payment is that it is pending. */
function leftPending({ calls, payments }: Intent, run: RunRecord): Judged | undefined {
  const known = charged(payments).map(({ id }) => id)
  const first = calls.find(({ outcome }) => outcome === 'pending')
  if (known.length === 0 || !first) return undefined
  const later = run.calls.slice(run.calls.findIndex(({ id }) => id === first.id) + 1)
  const isPolled = later.some(
    (call) => calls.some(({ id }) => id === call.id) || call.shownPayments.some((id) => known.includes(id)),
  )
  return isPolled ? undefined : { name: 'left_pending', habit: 'never_polls' }
}

/**
 * A final refusal ends a key: many services repeat the refusal for ever. A signed payment may be sent again, because no
 * service keeps its refusals. Who shares a key without faults too, such as two tabs, does not know of the other's refusal.
 */
function keptUsedKey({ calls }: Intent, _: RunRecord, baseline: RunRecord): Judged | undefined {
  const places = new Set(calls.map(placeOf))
  const usual = Math.max(1, ...timesSent(baseline.calls.filter((call) => places.has(placeOf(call)))))
  const isKept = calls.some((call, at) => {
    const isEnded =
      call.isKeySpent ||
      calls.slice(0, at).some((each) => isRefusedForGood(each) && sharesAny(each, call.identifiers.filter(isKey)))
    return isEnded && Math.max(...timesSent(calls.slice(0, at + 1), call.identifiers)) > usual
  })
  return isKept ? { name: 'kept_used_key', habit: 'keeps_key_after_refusal' } : undefined
}

const isKey = (identifier: string): boolean => !isOfSignature(identifier)

/** How often each key was sent, without the calls that repeat one which got no answer yet. */
function timesSent(
  calls: readonly RehearsedCall[],
  keys: readonly string[] = calls.flatMap(({ identifiers }) => identifiers),
): number[] {
  return [...new Set(keys)].filter(isKey).map((key) => {
    let [times, open] = [0, 0]
    for (const call of calls.filter(({ identifiers }) => identifiers.includes(key))) {
      if (open > 0 && !call.isKeySpent) open--
      else times++
      if (call.outcome !== 'done' && !isRefusedForGood(call)) open++
    }
    return times
  })
}

/** A 401 comes before a service looks at keys. A 402 to a signed payment offers another price. */
const isRefusedForGood = ({ outcome, status, identifiers }: RehearsedCall): boolean =>
  outcome === 'refused' && status !== 401 && !(status === 402 && identifiers.some(isOfSignature))

/** A call with a key changes nothing twice, so it can always be repeated. */
function gaveUp(intent: Intent, run: RunRecord, baseline: RunRecord): Judged | undefined {
  const { calls, payments } = intent
  const { ended } = run
  const last = calls.at(-1)
  if (last?.outcome !== 'unknown' || last.identifiers.length === 0 || endsAsUsual(run, baseline)) return undefined
  if (isCutOff(intent, run, baseline)) return undefined
  if (calls.some(({ outcome }) => outcome === 'done') || (ended.isOk && payments.length > 0)) return undefined
  return { name: 'gave_up', habit: 'gives_up' }
}

/** Whether the application may have failed because something else was refused at the same time, before it could try again. */
function isCutOff({ calls: own }: Intent, { calls, ended }: RunRecord, baseline: RunRecord): boolean {
  if (ended.isOk || own.at(-1)?.outcome !== 'unknown') return false
  const places = new Set(own.map(placeOf))
  const usual = new Set(baseline.calls.filter(isRefusedForGood).map(placeOf))
  return calls.filter(isRefusedForGood).some((call) => !places.has(placeOf(call)) && !usual.has(placeOf(call)))
}

/** Whether the application says the same at its end as without faults, so that it has delivered. */
function endsAsUsual({ ended: { isOk, result } }: RunRecord, baseline: RunRecord): boolean {
  if (!isOk || result === undefined || result === '') return false
  return withoutNew(result) === withoutNew(baseline.ended.result ?? '')
}

/** Whether an application did the same as without faults, and ended in the same way. */
export function isSameRun(run: RunRecord, baseline: RunRecord): boolean {
  const [here, there] = [run, baseline].map(({ calls, ended }) => {
    const answers = calls.map(({ operation, outcome, status }) => `${operation} ${outcome} ${status}`)
    return [...answers, ended.isOk, withoutNew(ended.result ?? '')].join('\n')
  })
  return here === there
}

/** A text without what is another one each time: ids that are drawn, and times. */
const withoutNew = (text: string): string =>
  text.replace(
    /\b(?:[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}|(?:0x)?[\da-f]{16,}|\d{4}-\d\d-\d\dT[\d:.]+Z?|\d{10,})\b/gi,
    '#',
  )

/** The application says that it delivered, or ends as if it had, and was paid less often than without faults. */
function deliveredUnpaid(intents: readonly Intent[], run: RunRecord, baseline: RunRecord): Verdict[] {
  const [paid, usual] = [charged(run.payments).length, charged(baseline.payments).length]
  const says = run.deliveries.length > paid && baseline.deliveries.length <= usual
  const looksSo = endsAsUsual(run, baseline) && paid < usual
  if (!says && !looksSo) return []
  const intent = intents.find(({ payments, wanted }) => charged(payments).length < wanted) ?? intents[0]
  const trusts = intent?.calls.some(({ contradicts }) => contradicts)
  return [
    {
      name: 'delivered_unpaid',
      habit: trusts ? 'trusts_the_status' : 'delivers_anyway',
      operation:
        intent?.operation ?? baseline.calls.find(({ id }) => baseline.payments[0]?.call === id)?.operation ?? '',
      sureness: says ? 'certain' : 'likely',
      ...{ calls: intent?.calls.length ?? 0, payments: paid, delivered: Math.max(run.deliveries.length, 1) },
    },
  ]
}

function leakedSecret({ output, secrets, calls }: RunRecord): Verdict[] {
  if (!holdsToken(output) && !secrets.some((secret) => secret !== '' && output.includes(secret))) return []
  const nothing = { payments: 0, delivered: 0 } as const
  return [
    {
      name: 'leaked_secret',
      habit: 'logs_secrets',
      operation: '',
      sureness: 'certain',
      calls: calls.length,
      ...nothing,
    },
  ]
}
