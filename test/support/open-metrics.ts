/** A metric family of an exposition, with the values of its samples by `name{label="value"}`. */
export interface ReadFamily {
  readonly type: string
  readonly unit: string | undefined
  readonly help: string
  readonly samples: ReadonlyMap<string, number>
}

const NAME = /^[a-z][a-z0-9_]*$/
const SAMPLE = /^([a-z][a-z0-9_]*)((?:\{(?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+\})?) (\S+)$/
const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  counter: ['_total'],
  gauge: [''],
  histogram: ['_bucket', '_count', '_sum'],
  info: ['_info'],
}

/** Reads OpenMetrics text by the rules of version 1.0. Throws an Error that names the first line that breaks one. */
export function readOpenMetrics(text: string): ReadonlyMap<string, ReadFamily> {
  const lines = text.split('\n')
  if (lines.pop() !== '' || lines.pop() !== '# EOF') throw new Error('the text does not end with # EOF and a newline')
  const families = new Map<string, ReadFamily & { readonly samples: Map<string, number> }>()
  let last = ''
  for (const line of lines) {
    const fault = (rule: string) => new Error(`${rule}: ${line}`)
    const [, word, name = '', rest = ''] = /^# (TYPE|UNIT|HELP) (\S+) (.+)$/.exec(line) ?? []
    if (word === 'TYPE') {
      if (families.has(name) || !NAME.test(name) || !(rest in SUFFIXES)) throw fault('a family has one name and type')
      families.set(name, { type: rest, unit: undefined, help: '', samples: new Map() })
      last = name
      continue
    }
    const family = families.get(last)
    if (!family) throw fault('a family begins with its type')
    if (word !== undefined) {
      if (name !== last || family.samples.size > 0) throw fault('the facts of a family come before its samples')
      if (word === 'UNIT' && !name.endsWith(`_${rest}`)) throw fault('a name ends with its unit')
      families.set(last, word === 'UNIT' ? { ...family, unit: rest } : { ...family, help: rest })
      continue
    }
    const [, sampled = '', labels = '', value = ''] = SAMPLE.exec(line) ?? []
    const suffix = sampled.slice(last.length)
    if (!sampled.startsWith(last) || !SUFFIXES[family.type]?.includes(suffix)) throw fault('a sample is of its family')
    if (family.samples.has(sampled + labels)) throw fault('a sample occurs once')
    if (!Number.isFinite(Number(value))) throw fault('a value is a number')
    if (suffix !== '' && suffix !== '_sum' && !/^\d+$/.test(value)) throw fault('a count is whole')
    family.samples.set(sampled + labels, Number(value))
  }
  for (const [name, { type, help, samples }] of families) {
    if (help === '' || samples.size === 0) throw new Error(`${name} has no help or no samples`)
    if (type === 'histogram') checkBuckets(name, samples)
  }
  return families
}

/** Buckets add up, in the order of their bounds, to the count. */
function checkBuckets(name: string, samples: ReadonlyMap<string, number>): void {
  const before = new Map<string, number>()
  for (const [sample, value] of samples) {
    const [, labels = '', bound = ''] = /_bucket\{(.*),le="([^"]+)"\}$/.exec(sample) ?? []
    if (labels === '') continue
    if (!/^(\d+\.\d+|\+Inf)$/.test(bound)) throw new Error(`the bound is not canonical: ${sample}`)
    if (value < (before.get(labels) ?? 0)) throw new Error(`a bucket holds less than the one before: ${sample}`)
    before.set(labels, value)
  }
  for (const [labels, value] of before)
    if (samples.get(`${name}_count{${labels}}`) !== value)
      throw new Error(`the buckets of ${name}{${labels}} and its count differ`)
}

/** The value of a sample: `farthing_requests_total{operation="listEvents",status="200"}`. Undefined if there is none. */
export const sampleIn = (text: string, sample: string): number | undefined =>
  [...readOpenMetrics(text).values()].find(({ samples }) => samples.has(sample))?.samples.get(sample)
