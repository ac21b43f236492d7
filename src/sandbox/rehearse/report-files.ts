import type { RehearsedCell } from './matrix.js'
import type { Rehearsal, RehearsalFinding } from './rehearse-stage.js'
import { diagramOf, showFinding, showSummary } from './report.js'

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
