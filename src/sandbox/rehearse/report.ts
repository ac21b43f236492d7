import type { ClientHabit, VerdictName } from './judge.js'
import type { PlannedFault, RehearsedFault } from './plan.js'
import { kindOfFault } from './plan.js'
import type { KeptMessages, RehearsedCall, RunRecord } from './record.js'
import type { Rehearsal, RehearsalFinding } from './rehearse-stage.js'

/** A finding as a person reads it. */
export interface ShownFinding {
  readonly title: string
  /** What happened, after what, and what the client does. */
  readonly sentence: string
  /** The calls of the run, one a line. */
  readonly diagram: string
  readonly repeat: string
  /** What was sent, if a proxy was asked to keep it. */
  readonly messages?: readonly string[] | undefined
}

const titles: Readonly<Record<VerdictName, string>> = {
  paid_twice: 'paid twice',
  charged_more: 'charged more than shown',
  paid_undelivered: 'paid and not delivered',
  delivered_unpaid: 'delivered unpaid',
  left_pending: 'left pending',
  kept_used_key: 'kept a used key',
  gave_up: 'gave up although a retry was safe',
  leaked_secret: 'leaked a secret into a log',
}

const habits: Readonly<Record<ClientHabit, string>> = {
  sends_no_key: 'the client tries again without an Idempotency-Key',
  new_key_each_try: 'the client takes a new key, or signs anew, for each try',
  signs_while_pending: 'the client signs again while a payment is pending',
  pays_before_price: 'the client pays before it reads the price',
  ignores_changed_price: 'the client pays without the price that it showed',
  keeps_key_after_refusal: 'the client uses a key again that was refused or used',
  gives_up: 'the client gives up, although its key makes a retry safe',
  never_polls: 'the client never asks again about a pending payment',
  trusts_the_status: 'the client trusts a status of 200 and does not read the outcome',
  delivers_anyway: 'the client goes on as if it had paid',
  loses_the_answer: 'the client never learns that it has paid',
  logs_secrets: 'the client prints a secret',
}

const after: Readonly<Record<RehearsedFault, string>> = {
  lost_before: 'is lost on its way',
  lost_after: 'works, and its answer is lost',
  error_before: 'is answered with 503',
  error_after: 'works, and is answered with 503',
  slow: 'works, and is answered late',
  twice: 'arrives twice',
  price_changed: 'meets a raised price',
  token_expired: 'meets an expired token',
  restart: 'works, and the application is stopped and started again',
  pending: 'works, and is answered as pending',
  refused: 'is refused with a status of 200',
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

const happened = ({ operation, nth, kind }: PlannedFault): string => `call ${nth} of ${operation} ${after[kind]}`

export function showFinding(finding: RehearsalFinding, { randomSeed }: Pick<Rehearsal, 'randomSeed'>): ShownFinding {
  const { name, habit, sureness, calls, payments, delivered, plan, run } = finding
  const counts = `${counted(calls, 'call')}, ${counted(payments, 'payment')}, ${delivered} delivered`
  const cause = plan.length === 0 ? 'without a fault' : `when ${plan.map(happened).join(', and ')}`
  const messages = run.calls.flatMap((call) => (call.messages ? [shownMessages(call.messages)] : []))
  return {
    ...(messages.length > 0 && { messages }),
    title: titles[name],
    sentence: `${counts}: ${cause}, ${habits[habit]}${sureness === 'certain' ? '' : ` (${sureness})`}.`,
    diagram: diagramOf(run),
    repeat: `--random-seed ${randomSeed}`,
  }
}

const shownMessages = ({ request, response }: KeptMessages): string =>
  `> ${request.replaceAll('\n', '\n> ')}\n\n< ${response.replaceAll('\n', '\n< ')}\n`

/** `client → createPayment   ✗ answer lost   paid 250` for each call. */
export function diagramOf({ calls, payments }: Pick<RunRecord, 'calls' | 'payments'>): string {
  const width = Math.max(0, ...calls.map(({ operation }) => operation.length))
  return calls
    .map((call) => {
      const paid = payments.filter((payment) => payment.call === call.id)
      const sums = paid.map(({ amount, status }) => `  [${status} ${amount}]`).join('')
      return `client ──${call.operation.padEnd(width)}──> service  ${answerOfCall(call)}${sums}`
    })
    .join('\n')
}

function answerOfCall({ status, code, fault, identifiers }: RehearsedCall): string {
  const kind = kindOfFault(fault)
  const answer = status === null ? '✗ no answer' : `${status}${code === undefined ? '' : ` ${code}`}`
  const key = identifiers.map((each) => each.replace(/^(\w[\w-]*:(?:sha256:)?.{0,12}).*/, '$1')).join(' ')
  return [answer, key, kind === undefined ? '' : `(${kind.replaceAll('_', ' ')})`]
    .filter((part) => part !== '')
    .join('  ')
}

/** One line that says how it went. */
export const showSummary = ({ findings, runs, plans }: Rehearsal): string =>
  findings.length === 0
    ? `No fault of the client in ${counted(runs, 'run')} of ${plans} plans.`
    : `${counted(findings.length, 'finding')} in ${counted(runs, 'run')}.`

export function showRehearsal(rehearsal: Rehearsal): string {
  const parts = rehearsal.findings.map((finding) => {
    const { title, sentence, diagram, repeat, messages = [] } = showFinding(finding, rehearsal)
    const shown = [diagram, ...messages].join('\n\n').replace(/^/gm, '    ')
    return `${title}\n  ${sentence}\n\n${shown}\n\n  To repeat it: ${repeat}\n`
  })
  return [...parts, showSummary(rehearsal)].join('\n')
}
