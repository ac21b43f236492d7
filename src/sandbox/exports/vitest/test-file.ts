import { problem } from '../../../base/problem.js'
import { visibleLine } from '../../../base/text/visible.js'
import type { ServiceContext } from '../../../http/context.js'
import type { State } from '../../../storage/storage.js'
import type { KeptEntry } from '../../journal/kept-entry.js'
import type { Entry } from '../../onion/entry.js'
import { notReplayable } from '../../replay/call-draft.js'
import { PreparedState } from './prepared-state.js'
import { ofEntry } from './recorded-answer.js'
import { serviceSource } from './service-source.js'
import { lineSource, textSource } from './source.js'
import { TestWriter } from './test-writer.js'

/**
 * Writes entries as a test file for Vitest, which holds the state before the first of them. Timers and deliveries are left
 * out, because they happen by themselves. Throws `not_replayable` for an entry that cannot be sent again.
 */
export async function vitestExport(entries: readonly KeptEntry[], service: ServiceContext): Promise<string> {
  const sent = entries.filter(({ origin }) => origin !== 'timer' && origin !== 'delivery')
  const [first] = sent
  if (!first) {
    if (entries.length > 0) throw notReplayable('origin', 'There is no request in this range.')
    throw problem('not_found', { detail: 'No entry of this range matches.' })
  }
  const prepared = await PreparedState.before(first, service).catch((error: unknown) => {
    throw ofEntry(first, error)
  })
  try {
    const writer = new TestWriter(prepared, Date.parse(first.at))
    for (const entry of sent) await writer.add(entry)
    const state = await prepared.state()
    const callsWebhooks =
      (state.rows.webhooks ?? []).length > 0 || sent.some(({ operation_id }) => operation_id === 'createWebhook')
    return fileOf(sent, { created: serviceSource(sent, { callsWebhooks }, service), steps: writer.lines, state })
  } finally {
    await prepared.close()
  }
}

interface TestParts {
  /** The code that creates the service. */
  readonly created: readonly string[]
  /** The code that sends the requests. */
  readonly steps: readonly string[]
  readonly state: State
}

const fileOf = (entries: readonly Entry[], { created, steps, state }: TestParts): string =>
  `${[
    "import { createService } from 'farthing'",
    "import { expect, onTestFinished, test } from 'vitest'",
    '',
    `test(${textSource(testTitle(entries))}, async () => {`,
    ...[...created, 'onTestFinished(() => service.close())', 'await service.sandbox.restore(state)', ...steps].map(
      indented,
    ),
    '})',
    '',
    '// The state before the first request. Its clock stands still at that moment, and its key is made for this test.',
    `const state = ${stateSource(state)}`,
  ].join('\n')}\n`

/** A row on a line. */
function stateSource({ rows, ...head }: State): string {
  const parts = Object.entries(head).map(([name, value]) => `  ${name}: ${lineSource(value)},`)
  const lists = Object.entries(rows).flatMap(([name, list]) => [
    `    ${name}: [`,
    ...list.map((row) => `      ${lineSource(row)},`),
    '    ],',
  ])
  return ['{', ...parts, '  rows: {', ...lists, '  },', '}'].join('\n')
}

const indented = (line: string): string => (line === '' ? '' : `  ${line}`)

function testTitle([first, ...others]: readonly Entry[]): string {
  if (!first) return ''
  const name = first.operation_id ?? `${first.method} ${first.path}`
  const outcome = [first.status, first.code].filter(Boolean).join(' ')
  if (others.length === 0) return visibleLine(`${name} answers ${outcome}`)
  return visibleLine(
    `${name} and ${others.length} more ${others.length === 1 ? 'request' : 'requests'} answer as they did`,
  )
}
