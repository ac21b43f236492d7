import type { Evidence } from '../../src/base/evidence.js'
import { loadTexts } from '../../src/composition/descriptions.js'
import { features } from '../../src/features.js'
import { type DocumentedService, openapi as describe, examples } from '../../src/http/openapi/document.js'
import { loadRouteList } from '../../src/routes.js'
import type { Settings } from '../config.js'
import { Refusal } from '../refusal.js'
import { printLines, printText } from '../terminal.js'
import { type Comparison, compare, type Difference } from './diff/compare.js'
import { basePathOf, type DescribedOperation, keyOf, operationsIn, readSource, type Source } from './diff/described.js'
import { operationsOfSession } from './diff/recorded.js'

/** Prints how another OpenAPI document or a recorded session differs from farthing. Exits with 1 if it does. Throws `Refusal`. */
export async function diff(place: string, { evidence, json }: Pick<Settings, 'evidence' | 'json'>): Promise<void> {
  const { comparison, source } = compareSource(await readSource(place), evidence, await loadTable())
  const { missing, extra, different } = comparison
  printLines(json ? [JSON.stringify({ evidence, ...source, ...comparison })] : reportLines(comparison, source))
  if (missing.length + extra.length + different.length > 0) process.exitCode = 1
}

export async function openapi({ port, baseUrl = `http://127.0.0.1:${port}`, evidence }: Settings): Promise<void> {
  const document = describe({ ...(await loadTable()), baseUrl, evidence, examples })
  printText(`${JSON.stringify(document, null, 2)}\n`)
}

async function loadTable() {
  const [routes, texts] = await Promise.all([loadRouteList(), loadTexts(features)])
  return { routes, texts }
}

export function compareSource(
  source: Source,
  evidence: Evidence,
  table: Pick<DocumentedService, 'routes' | 'texts'>,
): { readonly comparison: Comparison; readonly source: ComparedSource } {
  const document = describe({ ...table, baseUrl: 'http://127.0.0.1:4242', evidence })
  const ours = operationsIn(document, 'farthing')
  const { name, kind } = source
  if (kind === 'openapi') {
    const operations = placed(operationsIn(source.document, name), basePathOf(source.document), ours)
    return { comparison: compare(ours, { operations, isSample: false }), source: { name, kind } }
  }
  const { operations, skipped } = operationsOfSession(source.entries, ours)
  if (operations.length === 0) throw new Refusal(`${name} records no request to the service`)
  return { comparison: compare(ours, { operations, isSample: true }), source: { name, kind, skipped } }
}

/**
 * The operations with the path of their server in front, if more of them are then farthing's. A server's path is a part of
 * the interface, such as `/v4`, or only where the service happens to be.
 */
function placed(
  theirs: readonly DescribedOperation[],
  basePath: string,
  ours: readonly DescribedOperation[],
): readonly DescribedOperation[] {
  const known = new Set(ours.map(({ method, path }) => keyOf(method, path)))
  const below = theirs.map((operation) => ({ ...operation, path: basePath + operation.path }))
  const found = (operations: readonly DescribedOperation[]) =>
    operations.filter(({ method, path }) => known.has(keyOf(method, path))).length
  return found(below) > found(theirs) ? below : theirs
}

export interface ComparedSource {
  readonly name: string
  readonly kind: 'openapi' | 'har'
  /** How many recorded requests are not about the service. */
  readonly skipped?: number | undefined
}

export function reportLines(comparison: Comparison, { name, kind, skipped = 0 }: ComparedSource): string[] {
  const { same, missing, extra, different } = comparison
  return [
    `Operations that are the same: ${same}. Different: ${different.length}. Only in ${name}: ${missing.length}. Only in farthing: ${extra.length}.`,
    ...(kind === 'har'
      ? ['A recorded session shows only what happened, so nothing that farthing has besides is listed.']
      : []),
    ...(skipped > 0 ? [`Requests that are not about the service, or have no answer: ${skipped}.`] : []),
    ...section(`Only in ${name}`, missing.map(operationLine)),
    ...section(
      'Different',
      different.flatMap((operation) => [operationLine(operation), ...table(operation.differences)]),
    ),
    ...section('Only in farthing', extra.map(operationLine)),
  ]
}

const section = (heading: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', `${heading}:`, ...lines.map((line) => `  ${line}`)]

type Listed = Comparison['missing'][number]

const operationLine = ({ method, path, id, grade }: Listed): string =>
  `${method.padEnd(6)} ${path}${grade === null ? '' : `  (${id}, ${grade})`}`

/** The differences of an operation in columns. Statuses of one kind share a line. */
function table(differences: readonly Difference[]): string[] {
  const rows = [...grouped(differences)].map(({ kind, in: place, name, ours, theirs, grade }) => [
    kind,
    place,
    name === '' ? '(all of it)' : name,
    kind === 'different' ? `${ours} in farthing, ${theirs} there` : place === 'status' ? '' : (theirs ?? ours ?? ''),
    grade ?? '',
  ])
  // The list of statuses is long, and nothing stands behind it.
  const inColumns = rows.filter(([, place]) => place !== 'status')
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...inColumns.map((row) => row[column]?.length ?? 0)))
  return rows.map((row) => `    ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')}`.trimEnd())
}

function grouped(differences: readonly Difference[]): Difference[] {
  const statuses = (kind: Difference['kind']) =>
    differences.filter((each) => each.in === 'status' && each.kind === kind)
  const joined = (['missing', 'extra'] as const).flatMap((kind) => {
    const [first, ...more] = statuses(kind)
    return first ? [{ ...first, name: [first, ...more].map(({ name }) => name).join(', ') }] : []
  })
  return [...differences.filter((each) => each.in !== 'status'), ...joined]
}
