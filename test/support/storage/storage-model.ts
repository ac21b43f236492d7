import fc from 'fast-check'
import {
  collection,
  type Key,
  type Query,
  type Row,
  type Storage,
  UniqueViolation,
} from '../../../src/storage/storage.js'

export interface Note extends Row {
  readonly id: Key
  readonly owner?: Key | null
  readonly rank?: Key | null
  readonly slug?: string | null
  readonly body?: unknown
}

export const notes = collection<Note>()('notes', {
  byOwner: { fields: ['owner'] },
  byOwnerAndRank: { fields: ['owner', 'rank'] },
  bySlug: { fields: ['slug'], unique: true },
})

/** What the storage law says, written as plainly as can be: a list of rows, filtered and sorted anew for each question. */
export class Model {
  #rows: Note[] = []

  get rows(): Note[] {
    return [...this.#rows].sort((a, b) => order([a.id], [b.id]))
  }

  clone(): Model {
    const copy = new Model()
    copy.#rows = [...this.#rows]
    return copy
  }

  put(row: Note): void {
    this.remove(row.id)
    this.#rows.push(row)
  }

  remove(id: Key): void {
    this.#rows = this.#rows.filter((row) => row.id !== id)
  }

  get(id: Key): Note | undefined {
    return this.#rows.find((row) => row.id === id)
  }

  find({ index, prefix, after, limit, reverse }: Question): Note[] {
    const fields = index === 'id' ? [] : notes.indexes[index].fields
    const keyed = this.#rows
      .map((row) => ({ row, key: [...fields.map((field) => row[field] as Key | null | undefined), row.id] }))
      .filter(({ key }) => key.every((part) => part !== null && part !== undefined))
      .map(({ row, key }) => ({ row, key: key as Key[] }))
      .filter(({ key }) => prefix.every((part, i) => key[i] === part))
      .sort((a, b) => order(a.key, b.key))
    if (reverse) keyed.reverse()
    const past = keyed.filter(({ key }) => !after || (reverse ? order(key, after) < 0 : order(key, after) > 0))
    return past.slice(0, limit).map(({ row }) => row)
  }

  get breaksUniqueness(): boolean {
    const slugs = this.#rows.map((row) => row.slug).filter((slug) => slug !== null && slug !== undefined)
    return new Set(slugs).size < slugs.length
  }
}

export type Question = Query<keyof typeof notes.indexes & string>

export type Step =
  | { do: 'put'; row: Note }
  | { do: 'remove'; id: Key }
  | { do: 'get'; id: Key }
  | { do: 'getMany'; ids: Key[] }
  | { do: 'find'; query: Question }

/** How long many random cases may take, in ms: a database answers later than a map. */
export const LONG = 120_000

/** One write: its steps, and whether it throws at the end. */
export interface Write {
  steps: Step[]
  throws: boolean
}

/** Runs a write on both and says what each of them saw on the way; the model changes as the storage should. */
export async function runOnBoth(
  { steps, throws }: Write,
  storage: Storage,
  model: Model,
): Promise<{ seen: unknown; expected: unknown }> {
  const draft = model.clone()
  const expected: unknown[] = []
  for (const step of steps) {
    if (step.do === 'put') draft.put(step.row)
    else if (step.do === 'remove') draft.remove(step.id)
    else if (step.do === 'get') expected.push(draft.get(step.id))
    else if (step.do === 'getMany') expected.push(step.ids.map((id) => draft.get(id)))
    else expected.push(draft.find(step.query))
  }
  const outcome = throws ? 'thrown' : draft.breaksUniqueness ? 'violation' : expected
  if (outcome === expected) for (const { id } of model.rows) model.remove(id)
  if (outcome === expected) for (const row of draft.rows) model.put(row)

  const ran = { seen: [] as unknown[] }
  const seen = await storage
    .write(async (tx) => {
      ran.seen = []
      for (const step of steps) {
        if (step.do === 'put') tx.put(notes, structuredClone(step.row))
        else if (step.do === 'remove') tx.remove(notes, step.id)
        else if (step.do === 'get') ran.seen.push(await tx.get(notes, step.id))
        else if (step.do === 'getMany') ran.seen.push(await tx.getMany(notes, step.ids))
        else ran.seen.push(await tx.find(notes, step.query))
      }
      if (throws) throw new Error('thrown')
      return ran.seen
    })
    .catch((error: Error) => (error instanceof UniqueViolation ? 'violation' : error.message))
  return { seen: { outcome: seen, seen: ran.seen }, expected: { outcome, seen: expected } }
}

/** Few ids and keys, so that they meet; numbers, and strings on both sides of where code units and code points differ. */
export const keys: fc.Arbitrary<Key> = fc.constantFrom<Key>(
  -1,
  0,
  1.5,
  2,
  10,
  9007199254740991,
  '',
  '1',
  'a',
  'ab',
  'b',
  'é',
  '\u{1f600}',
  '\uff5e',
)

const ids = fc.constantFrom<Key>(1, 2, 10, '1', '2', 'a', 'b', '\u{1f600}', '\uff5e')
const optional = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: value, weight: 6 }, { arbitrary: fc.constant(null), weight: 1 })

/** JSON has no negative zero. */
const withoutNegativeZero = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

const rows: fc.Arbitrary<Note> = fc.record(
  {
    id: ids,
    owner: optional(keys),
    rank: optional(keys),
    slug: optional(fc.constantFrom('p', 'q', 'r', 's', 't', 'u')),
    body: fc.jsonValue({ maxDepth: 1, stringUnit: 'grapheme' }).map(withoutNegativeZero),
  },
  { requiredKeys: ['id'] },
)

export const questions: fc.Arbitrary<Question> = fc
  .record({
    index: fc.constantFrom('id' as const, 'byOwner' as const, 'byOwnerAndRank' as const, 'bySlug' as const),
    parts: fc.tuple(keys, keys, ids),
    prefixed: fc.nat(3),
    after: fc.option(fc.tuple(keys, keys, ids)),
    near: fc.boolean(),
    limit: fc.constantFrom(0, 1, 2, 5, 100),
    reverse: fc.boolean(),
  })
  .map(({ index, parts, prefixed, after, near, limit, reverse }) => {
    const length = { id: 1, byOwner: 2, bySlug: 2, byOwnerAndRank: 3 }[index]
    const prefix = parts.slice(3 - length).slice(0, prefixed)
    const past = after?.slice(3 - length)
    // Often past a key of the same prefix, where pages are.
    const key = past && near ? [...prefix, ...past.slice(prefix.length)] : past
    return { index, prefix, limit, reverse, ...(key && { after: key }) }
  })

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const), row: rows }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('remove' as const), id: ids }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('get' as const), id: ids }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('getMany' as const), ids: fc.array(ids, { maxLength: 6 }) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('find' as const), query: questions }) },
)

export const writes: fc.Arbitrary<Write> = fc.record({
  steps: fc.array(steps, { maxLength: 10 }),
  throws: fc.constantFrom(false, false, false, false, true),
})

function order(a: readonly Key[], b: readonly Key[]): number {
  const at = a.findIndex((part, i) => part !== b[i])
  if (at === -1) return a.length - b.length
  const [left, right] = [a[at], b[at]] as [Key, Key | undefined]
  if (right === undefined) return 1
  if (typeof left !== typeof right) return typeof left === 'number' ? -1 : 1
  return left < right ? -1 : 1
}
