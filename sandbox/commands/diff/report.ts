import type { Comparison, Difference } from './compare.js'

/** What was compared with farthing. */
export interface ComparedSource {
  /** The file or the URL. */
  readonly name: string
  readonly kind: 'openapi' | 'har'
  /** How many recorded requests are not about the service. */
  readonly skipped?: number | undefined
}

/** The comparison as a table for people. */
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
