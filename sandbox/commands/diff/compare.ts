import type { Evidence } from '../../../src/base/evidence.js'
import { type DescribedOperation, keyOf } from './described.js'
import { isAnything, type Shape, type ShapeProperty } from './shape.js'

/** `missing`: only they have it. `extra`: only farthing has it. */
export type DifferenceKind = 'missing' | 'extra' | 'different'

export interface Difference {
  readonly kind: DifferenceKind
  /** `query`, `header`, `body`, `status`, or `answer 200`. */
  readonly in: string
  /** The path of a field, such as `spend.limit` or `lines[].price`, or a status. Empty: the whole value. */
  readonly name: string
  readonly ours: string | null
  readonly theirs: string | null
  /** The grade of what farthing has. Null: it has nothing here, or a status, which has no grade. */
  readonly grade: Evidence | null
}

interface NamedOperation {
  readonly method: string
  readonly path: string
  readonly id: string | null
  readonly grade: Evidence | null
}

export interface Comparison {
  readonly same: number
  readonly missing: readonly NamedOperation[]
  readonly extra: readonly NamedOperation[]
  readonly different: readonly (NamedOperation & { readonly differences: readonly Difference[] })[]
}

/** `isSample`: theirs is what happened to be recorded, so what it lacks is not missing there. */
export type ComparedWith = { readonly operations: readonly DescribedOperation[]; readonly isSample: boolean }

export function compare(ours: readonly DescribedOperation[], { operations, isSample }: ComparedWith): Comparison {
  const own = new Map(ours.map((operation) => [keyOf(operation.method, operation.path), operation]))
  const theirs = new Map(operations.map((operation) => [keyOf(operation.method, operation.path), operation]))
  const shared = [...own].flatMap(([key, operation]) => {
    const other = theirs.get(key)
    return other ? [{ ...named(operation), differences: differencesOf(operation, other, isSample) }] : []
  })
  const different = shared.filter(({ differences }) => differences.length > 0)
  const absent = <T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, unknown>) =>
    [...one].filter(([key]) => !other.has(key)).map(([, operation]) => operation)
  return {
    same: shared.length - different.length,
    missing: absent(theirs, own).map(named),
    extra: isSample ? [] : absent(own, theirs).map(named),
    different,
  }
}

const named = ({ method, path, id, grade }: DescribedOperation): NamedOperation => ({
  ...{ method, path, id: id ?? null, grade: grade ?? null },
})

function differencesOf(ours: DescribedOperation, theirs: DescribedOperation, isSample: boolean): Difference[] {
  const grade = ours.grade ?? null
  const comparing = (place: string, isAnswer: boolean) => new Comparing({ in: place, isAnswer, isSample, grade })
  // A refused request does not say which fields the service takes.
  const showsRequest = !isSample || [...theirs.answers.keys()].some((status) => Number(status) < 400)
  const request = () => [
    ...['query', 'header'].flatMap((place) =>
      comparing(place, false).fields(fieldsIn(ours, place), fieldsIn(theirs, place), ''),
    ),
    ...bodies(ours, theirs, comparing('body', false), isSample),
  ]
  return [
    ...(showsRequest ? request() : []),
    ...statuses(ours, theirs, isSample),
    ...[...theirs.answers].flatMap(([status, answer]) => {
      const own = answerFor(ours, status)
      return answer && own && Number(status) < 400 ? comparing(`answer ${status}`, true).shapes(own, answer, '') : []
    }),
  ]
}

const fieldsIn = ({ parameters }: DescribedOperation, place: string): ReadonlyMap<string, ShapeProperty> =>
  new Map(
    [...parameters].flatMap(([name, property]) =>
      name.startsWith(`${place} `) ? [[name.slice(place.length + 1), property] as const] : [],
    ),
  )

function bodies(
  { body: ours, grade }: DescribedOperation,
  { body: theirs }: DescribedOperation,
  comparing: Comparing,
  isSample: boolean,
): Difference[] {
  if (ours && theirs) return comparing.shapes(ours, theirs, '')
  const whole = { in: 'body', name: '', ours: ours ? 'a body' : null, theirs: theirs ? 'a body' : null }
  if (theirs) return isEmpty(theirs) ? [] : [{ ...whole, kind: 'missing', grade: null }]
  return ours && !isSample && !isEmpty(ours) ? [{ ...whole, kind: 'extra', grade: grade ?? null }] : []
}

const isEmpty = ({ properties, rest, types }: Shape): boolean =>
  properties.size === 0 && !rest && (types.size === 0 || types.has('object'))
const answerFor = ({ answers }: DescribedOperation, status: string): Shape | undefined =>
  answers.get(status) ?? answers.get('default')

/** What each side may answer. OpenAPI writes a group of statuses as `4XX`. */
function statuses(ours: DescribedOperation, theirs: DescribedOperation, isSample: boolean): Difference[] {
  const has = ({ answers }: DescribedOperation, status: string) =>
    answers.has(status) || answers.has('default') || answers.has(`${status[0]}XX`)
  const only = (one: DescribedOperation, other: DescribedOperation) =>
    [...one.answers.keys()].filter((status) => /^\d+$/.test(status) && !has(other, status))
  const shown = { in: 'status', ours: null, theirs: null, grade: null }
  const missing = only(theirs, ours).map((name) => ({ ...shown, kind: 'missing' as const, name, theirs: 'answered' }))
  const extra = only(ours, theirs).map((name) => ({ ...shown, kind: 'extra' as const, name, ours: 'answered' }))
  return isSample ? missing : [...missing, ...extra]
}

/** A place in an operation, and the grade of fields there that have none of their own. */
interface ComparedPlace {
  readonly in: string
  readonly isAnswer: boolean
  readonly isSample: boolean
  readonly grade: Evidence | null
}

class Comparing {
  constructor(readonly at: ComparedPlace) {}

  shapes(ours: Shape, theirs: Shape, path: string, grade = this.at.grade): Difference[] {
    if (isAnything(ours) || isAnything(theirs)) return []
    if (!this.#areSame(ours.types, theirs.types))
      return [this.#difference('different', path, { ours: typesText(ours), theirs: typesText(theirs), grade })]
    return [
      ...this.fields(ours.properties, theirs.properties, path, { ours, theirs, grade }),
      ...(ours.items && theirs.items ? this.shapes(ours.items, theirs.items, `${path}[]`, grade) : []),
      ...(ours.rest && theirs.rest ? this.shapes(ours.rest, theirs.rest, `${path}.*`, grade) : []),
    ]
  }

  /** A sample need not show every type that farthing allows. */
  #areSame(ours: ReadonlySet<string>, theirs: ReadonlySet<string>): boolean {
    const allows = (types: ReadonlySet<string>, type: string) =>
      types.has(type) || (this.at.isSample && type === 'integer' && types.has('number'))
    return (
      [...theirs].every((type) => allows(ours, type)) &&
      (this.at.isSample || [...ours].every((type) => theirs.has(type)))
    )
  }

  fields(
    ours: ReadonlyMap<string, ShapeProperty>,
    theirs: ReadonlyMap<string, ShapeProperty>,
    path: string,
    within?: { readonly ours: Shape; readonly theirs: Shape; readonly grade: Evidence | null },
  ): Difference[] {
    const grade = within?.grade ?? this.at.grade
    const names = new Set([...ours.keys(), ...theirs.keys()])
    return [...names].flatMap((name) => {
      const [own, other] = [ours.get(name), theirs.get(name)]
      const at = path === '' ? name : `${path}.${name}`
      if (own && other)
        return this.#presence(own, other, at, grade).concat(this.shapes(own.shape, other.shape, at, own.grade ?? grade))
      if (other) return this.#onlyTheirs(other, at, within?.ours, grade)
      return own ? this.#onlyOurs(own, at, within?.theirs, grade) : []
    })
  }

  #onlyTheirs({ shape }: ShapeProperty, at: string, ours: Shape | undefined, grade: Evidence | null): Difference[] {
    if (ours?.rest) return this.shapes(ours.rest, shape, at, grade)
    return [this.#difference('missing', at, { ours: null, theirs: typesText(shape), grade: null })]
  }

  #onlyOurs(own: ShapeProperty, at: string, theirs: Shape | undefined, inherited: Evidence | null): Difference[] {
    const { isAnswer, isSample } = this.at
    const grade = own.grade ?? inherited
    const isOpen = theirs !== undefined && (theirs.rest !== undefined || (!isSample && theirs.properties.size === 0))
    if (isOpen || (isSample && !own.isRequired)) return []
    if (isSample && !isAnswer) return [this.#difference('different', at, { ours: 'required', theirs: 'absent', grade })]
    return [this.#difference('extra', at, { ours: typesText(own.shape), theirs: null, grade })]
  }

  /** Documents rarely say which fields of an answer are always there, so only a promise that farthing breaks counts. */
  #presence(own: ShapeProperty, other: ShapeProperty, at: string, inherited: Evidence | null): Difference[] {
    const { isAnswer, isSample } = this.at
    const isWeaker = isSample ? own.isRequired && !other.isRequired : other.isRequired && !own.isRequired
    const isSame = isAnswer || isSample ? !isWeaker : own.isRequired === other.isRequired
    if (isSame) return []
    const said = ({ isRequired }: ShapeProperty) =>
      isRequired ? (isAnswer ? 'always' : 'required') : isAnswer ? 'sometimes' : 'optional'
    return [this.#difference('different', at, { ours: said(own), theirs: said(other), grade: own.grade ?? inherited })]
  }

  #difference(kind: DifferenceKind, name: string, sides: Pick<Difference, 'ours' | 'theirs' | 'grade'>): Difference {
    return { kind, in: this.at.in, name, ...sides }
  }
}

const typesText = ({ types }: Shape): string => (types.size === 0 ? 'anything' : [...types].sort().join(' or '))
