import type { ClientHabit, VerdictName } from './judge.js'
import { kindOfFault, type PlannedFault, type RehearsedFault } from './plan.js'
import type { KeptMessages, RehearsedCall, RunRecord } from './record.js'
import type { Rehearsal, RehearsalFinding, RehearsedCell } from './rehearse-stage.js'

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

/** A finding as a person reads it: what happened, after what, what the client does, and the calls, one a line. */
export function showFinding(finding: RehearsalFinding, { randomSeed }: Pick<Rehearsal, 'randomSeed'>) {
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
const showSummary = ({ findings, runs, plans }: Rehearsal): string =>
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

/** What a program reads. It holds no bodies, unless a proxy was asked to keep them, and no output. */
export const rehearsalJson = (rehearsal: Rehearsal): string => JSON.stringify(rehearsalReport(rehearsal))

/** The same as a value, which a sandbox keeps and the workbench shows. */
export function rehearsalReport(rehearsal: Rehearsal) {
  const { isOk, runs, plans, randomSeed, findings } = rehearsal
  return {
    ...{ ok: isOk, runs, plans, random_seed: randomSeed },
    findings: findings.map((finding) => ({ ...factsOf(finding), ...showFinding(finding, rehearsal) })),
    cells: rehearsal.cells.map((cell) => showCell(cell, rehearsal)),
  }
}

function showCell({ kind, operation, nth, state, judged }: RehearsedCell, rehearsal: Rehearsal) {
  const plan = [{ kind, operation, nth }]
  const stories = judged?.verdicts.map((verdict) => {
    const { title, sentence } = showFinding({ ...verdict, plan, run: judged.run }, rehearsal)
    return { verdict: verdict.name, habit: verdict.habit, operation: verdict.operation, title, sentence }
  })
  return { kind, operation, nth, state, diagram: judged ? diagramOf(judged.run) : '', stories: stories ?? [] }
}

const factsOf = ({ name, habit, operation, sureness, calls, payments, delivered, plan }: RehearsalFinding) => ({
  ...{ verdict: name, habit, operation, sureness, calls, payments, delivered },
  plan: plan.map(({ kind, operation: call, nth }) => ({ kind, operation: call, nth })),
})

/** One test that passes, or one that fails for each finding. */
export function rehearsalJUnit(rehearsal: Rehearsal): string {
  const shown = rehearsal.findings.map((finding) => showFinding(finding, rehearsal))
  const cases = shown.map(
    ({ title, sentence, diagram, repeat, messages = [] }) =>
      `<testcase classname="rehearse" name="${escaped(title)}"><failure message="${escaped(sentence)}">${escaped([diagram, repeat, ...messages].join('\n'))}</failure></testcase>`,
  )
  const passed = cases.length > 0 ? cases : ['<testcase classname="rehearse" name="pays once"/>']
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites><testsuite name="farthing rehearse" tests="${passed.length}" failures="${cases.length}">
${passed.join('\n')}
</testsuite></testsuites>
`
}

/** A page that needs no other file and runs no script. */
export function rehearsalHtml(rehearsal: Rehearsal): string {
  const sections = rehearsal.findings.map((finding) => {
    const { title, sentence, diagram, repeat, messages = [] } = showFinding(finding, rehearsal)
    return `<section><h2>${escaped(title)}</h2><p>${escaped(sentence)}</p><pre>${escaped([diagram, ...messages].join('\n\n'))}</pre><p>To repeat it: <code>${escaped(repeat)}</code></p></section>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Rehearsal</title><style>${STYLE}</style></head>
<body><main><h1>Rehearsal</h1><p>${escaped(showSummary(rehearsal))}</p>
${sections.join('\n')}
</main></body></html>
`
}

const STYLE =
  ':root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem}main{max-width:60rem;margin:auto}pre{overflow-x:auto;padding:1rem;border:1px solid}'

/** Characters that XML cannot hold become a mark. */
const escaped = (text: string): string =>
  text
    .replace(/[^\P{C}\n\t]/gu, '\u{fffd}')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')

/** A Vitest file that fails until the findings are fixed. `command`: what was rehearsed, and `flags`: how. */
export function rehearsalTest(rehearsal: Rehearsal, command: readonly string[], flags: readonly string[] = []): string {
  const { randomSeed, runs, findings } = rehearsal
  const args = ['rehearse', '--json', '--random-seed', String(randomSeed), '--budget', String(runs)]
  const tests = findings.map((finding) => {
    const { title, sentence } = showFinding(finding, rehearsal)
    const { verdict, habit, operation } = factsOf(finding)
    return `test(${literal(`${title}: ${sentence}`)}, () => {
  expect(found).not.toContain(${literal([verdict, habit, operation].join(' '))})
})`
  })
  return `import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

const { stdout } = spawnSync('npx', ['farthing', ...${literal([...args, ...flags, '--', ...command])}], { encoding: 'utf8' })
const { findings } = JSON.parse(stdout)
const found = findings.map(({ verdict, habit, operation }) => [verdict, habit, operation].join(' '))

${tests.length > 0 ? tests.join('\n\n') : "test('pays once', () => {\n  expect(found).toEqual([])\n})"}
`
}

const literal = (value: unknown): string =>
  JSON.stringify(value).replace(/[\u2028\u2029]/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`)
