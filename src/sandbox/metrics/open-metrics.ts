import { visibleLine } from '../../base/text/visible.js'

type Labels = Readonly<Record<string, string>>

/** One number of a metric family. */
export interface Sample {
  /** What follows the family's name: `_total` of a counter, `_bucket` of a histogram and so on. Default: nothing. */
  readonly suffix?: string
  readonly labels?: Labels
  readonly value: number
}

/** A metric with all its samples. */
export interface Family {
  /** Ends with its unit, if it has one. */
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram' | 'info'
  readonly unit?: 'seconds' | 'bytes'
  readonly help: string
  readonly samples: readonly Sample[]
}

/** Writes metric families in the text format of OpenMetrics 1.0. Leaves out those without samples. */
export function writeOpenMetrics(families: readonly Family[]): string {
  const lines = families.filter(({ samples }) => samples.length > 0).flatMap(metricLines)
  return [...lines, '# EOF', ''].join('\n')
}

const metricLines = ({ name, type, unit, help, samples }: Family): string[] => [
  `# TYPE ${name} ${type}`,
  ...(unit ? [`# UNIT ${name} ${unit}`] : []),
  `# HELP ${name} ${escaped(help)}`,
  ...samples.map(({ suffix = '', labels = {}, value }) => `${name}${suffix}${shownLabels(labels)} ${value}`),
]

function shownLabels(labels: Labels): string {
  const shown = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return shown.length > 0 ? `{${shown.join(',')}}` : ''
}

const escaped = (text: string): string => visibleLine(text).replace(/[\\"]/g, '\\$&')

/** A bound of a bucket, for the label `le`: it always has a fraction, such as 1.0. */
export const shownBound = (bound: number): string => (Number.isInteger(bound) ? bound.toFixed(1) : String(bound))

/** The samples of a histogram for one set of labels. `counts`: one for each bound, and one for what is beyond. */
export function histogramSamples(
  labels: Labels,
  bounds: readonly number[],
  { counts, sum }: { readonly counts: readonly number[]; readonly sum: number },
): Sample[] {
  let total = 0
  const buckets = counts.map((count, i) => {
    const bound = bounds[i]
    total += count
    const le = bound === undefined ? '+Inf' : shownBound(bound)
    return { suffix: '_bucket', labels: { ...labels, le }, value: total }
  })
  return [...buckets, { suffix: '_count', labels, value: total }, { suffix: '_sum', labels, value: sum }]
}
