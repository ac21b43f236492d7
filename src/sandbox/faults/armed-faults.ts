import { problem } from '../../base/problem.js'
import { suggestName } from '../../base/text/nearest-name.js'
import { checkShape, fieldRefused } from '../../http/fields/field.js'
import { timeOf } from '../../http/fields/schema.js'
import { type Storage, StorageUnavailable } from '../../storage/storage.js'
import type { ArmedFault, Fault, FaultCount, FaultPoint, PreparedFaults, SharedFault } from '../onion/fault.js'
import { keepFaultCounts, keptFaultCounts } from '../settings/settings.js'
import { FaultShape } from './fault-shape.js'

export const MOST_FAULTS = 100

export interface Subject {
  readonly operation_id?: string | undefined
  readonly method?: string | undefined
  readonly path?: string | undefined
  readonly principal?: string | null | undefined
  readonly port?: string | undefined
}

interface Armed extends Omit<SharedFault, keyof Fault> {
  readonly id: string
  readonly fault: Fault
  readonly endsAt: number
  /** Where processes count together: what this one knows of that. */
  matched: number
  fired: number
  /** It has its id and its place, and does not happen yet. */
  isHeld: boolean
}

export interface ArmedFaultsOptions {
  now(): number
  readonly instance: string
  /** What this process counts together with others. Undefined if it counts alone. */
  readonly counts: SharedCounts | undefined
  loadOperations(): Promise<readonly string[]>
  /** Called when there is something to do, or nothing any more. */
  onChange(isArmed: boolean): void
}

export class ArmedFaults {
  #armed: Armed[] = []
  #last = 0
  #armings = 0

  constructor(readonly options: ArmedFaultsOptions) {}

  async prepare(given: readonly Fault[], within?: string): Promise<PreparedFaults> {
    const faults = await this.#checked(given, within)
    const kept = this.#withRoomFor(faults.length)
    const added = this.#numbered(faults, kept, this.#last)
    this.#last = added.at(-1)?.number ?? this.#last
    this.#armed = [...kept, ...added]
    return {
      arm: () => {
        for (const armed of added) armed.isHeld = false
        this.#changed()
        return added.map(withoutState)
      },
      cancel: () => {
        this.#armed = this.#armed.filter((armed) => !added.includes(armed))
      },
    }
  }

  async prepareAnew(given: readonly Fault[], within: string): Promise<() => void> {
    const faults = await this.#checked(given, within)
    if (faults.length > MOST_FAULTS) throw tooMany()
    const added = this.#numbered(faults, [], 0)
    return () => {
      this.#armed = added.map((armed) => ({ ...armed, isHeld: false }))
      this.#last = added.length
      this.#changed()
    }
  }

  async list(): Promise<ArmedFault[]> {
    const counts = await this.options.counts?.read()
    if (counts) this.#learn(counts)
    return this.#happening().map(withoutState)
  }

  shared = (): SharedFault[] =>
    this.#happening().map(({ id, fault, number, arming }) => ({ ...fault, id, number, arming }))

  follow(faults: readonly SharedFault[]): void {
    const known = new Map(this.#happening().map((armed) => [armed.arming, armed]))
    const followed = faults.map(({ number, arming, ...fault }) => {
      return known.get(arming) ?? { ...armedFault(fault, { id: fault.id, number, arming }), isHeld: false }
    })
    this.#armed = [...followed, ...this.#armed.filter(({ isHeld }) => isHeld)]
    this.#last = Math.max(0, ...this.#armed.map(({ number }) => number))
    this.#changed()
  }

  disarm(id: string): void {
    if (!this.#armed.some((armed) => armed.id === id)) throw problem('not_found')
    this.#armed = this.#armed.filter((armed) => armed.id !== id)
    this.#changed()
  }

  clear(): void {
    this.#armed = []
    this.#last = 0
    this.#changed()
  }

  /** Whether it depends on the caller what happens to this subject. */
  needsPrincipal(subject: Subject): boolean {
    return this.#armed.some(
      ({ fault }) => fault.match.principal !== undefined && matches({ ...fault.match, principal: undefined }, subject),
    )
  }

  /** Counts a match for each fault until one happens. Returns that one. Call it outside of transactions. */
  async take(at: FaultPoint, subject: Subject, isPossible?: IsPossible): Promise<ArmedFault | undefined> {
    const taken = this.takeAtOnce(at, subject, isPossible)
    if (taken) return taken.fault
    const { counts } = this.options
    for (const armed of this.#matching(at, subject, isPossible)) {
      const counted = await counts?.match(armed)
      if (!counted) continue
      this.#learn([counted.after])
      if (counted.after.fired > counted.before.fired) return { ...withoutState(armed), fired: counted.after.fired }
    }
    return undefined
  }

  /** Does what `take` does. Undefined if that needs a transaction, because processes count the match together. */
  takeAtOnce(at: FaultPoint, subject: Subject, isPossible?: IsPossible): { fault: ArmedFault | undefined } | undefined {
    const matching = this.#matching(at, subject, isPossible)
    if (this.options.counts && matching.length > 0) return undefined
    const happening = matching.find((armed) => {
      const { fired } = armed
      Object.assign(armed, withMatch(armed))
      return armed.fired > fired
    })
    if (happening && isSpent(happening)) this.#changed()
    return { fault: happening && withoutState(happening) }
  }

  /** Undoes `takeAtOnce` of a fault that could not happen. */
  putBack({ id }: ArmedFault): void {
    const armed = this.#armed.find((each) => each.id === id)
    if (!armed) return
    armed.matched--
    armed.fired--
    this.#changed()
  }

  /** Whether one of the armed faults, of those that may still happen, is like this. */
  some = (isWanted: (fault: Fault) => boolean): boolean =>
    this.#armed.some((armed) => !armed.isHeld && !isSpent(armed) && isWanted(armed.fault))

  #happening = (): Armed[] => this.#armed.filter(({ isHeld }) => !isHeld)

  #matching(at: FaultPoint, subject: Subject, isPossible: IsPossible = () => true): Armed[] {
    const now = this.options.now()
    return this.#happening().filter((armed) => {
      const { fault, endsAt } = armed
      return fault.at === at && !isSpent(armed) && now < endsAt && matches(fault.match, subject) && isPossible(fault)
    })
  }

  /** Counts only grow while a fault is armed, so the highest is the latest. */
  #learn(counts: readonly FaultCount[]): void {
    for (const armed of this.#armed) {
      const count = counts.find(({ arming }) => arming === armed.arming)
      if (!count || count.matched <= armed.matched) continue
      const { matched, fired } = count
      Object.assign(armed, { matched, fired })
      if (isSpent(armed)) this.#changed()
    }
  }

  /** Gives an id to each fault that has none. `last`: the number of the last one before. Throws `already_exists`. */
  #numbered(faults: readonly Fault[], kept: readonly Armed[], last: number): Armed[] {
    const known = new Set(kept.map(({ id }) => id))
    let number = last
    return faults.map((fault) => {
      if (fault.id !== undefined && known.has(fault.id))
        throw problem('already_exists', { detail: `A fault with the id "${fault.id}" is armed.` })
      do number++
      while (fault.id === undefined && known.has(`fault_${number}`))
      const id = fault.id ?? `fault_${number}`
      known.add(id)
      return armedFault(fault, { id, number, arming: `${this.options.instance}:${++this.#armings}` })
    })
  }

  /** The faults that stay when this many more come: those that are over make room, the oldest first. */
  #withRoomFor(count: number): Armed[] {
    let excess = this.#armed.length + count - MOST_FAULTS
    const kept = this.#armed.filter((armed) => !(excess > 0 && isSpent(armed) && excess-- > 0))
    if (excess <= 0) return kept
    throw tooMany()
  }

  async #checked(given: readonly Fault[], within: string | undefined): Promise<Fault[]> {
    const faults = given.map((fault) => checkShape(FaultShape, fault))
    if (faults.every(({ match }) => match.operation_id === undefined)) return faults
    const known = await this.options.loadOperations()
    for (const [at, { match }] of faults.entries()) {
      const { operation_id: id } = match
      if (id === undefined || known.includes(id)) continue
      const field = `${within === undefined ? '' : `${within}.${at}.`}match.operation_id`
      throw fieldRefused(field, 'is not an operation that can fail', suggestName(id, [...known]))
    }
    return faults
  }

  #changed(): void {
    this.options.onChange(this.#armed.some((armed) => !armed.isHeld && !isSpent(armed)))
  }
}

const tooMany = () =>
  problem('field_invalid', { detail: `At most ${MOST_FAULTS} faults are armed at once. Disarm some first.` })

type IsPossible = (fault: Fault) => boolean

const armedFault = (fault: Fault, named: Pick<Armed, 'id' | 'number' | 'arming'>): Armed => ({
  ...named,
  ...{ fault, matched: 0, fired: 0, isHeld: true },
  endsAt: timeOf('until', fault.until) ?? Number.POSITIVE_INFINITY,
})

const withoutState = ({ id, fault: { id: _, ...fault }, fired }: Armed): ArmedFault => ({ id, ...fault, fired })

function matches({ path, ...exact }: Fault['match'], subject: Subject): boolean {
  if (exact.port !== subject.port) return false
  for (const name of ['operation_id', 'method', 'principal'] as const)
    if (exact[name] !== undefined && exact[name] !== subject[name]) return false
  return path === undefined || isLike(path, subject.path ?? '')
}

/** Whether a path is this one, with `*` for any characters. Takes a time that grows with the path alone. */
function isLike(pattern: string, path: string): boolean {
  const [start = '', ...rest] = pattern.split('*')
  const end = rest.pop()
  if (end === undefined) return path === pattern
  if (!path.startsWith(start)) return false
  let from = start.length
  for (const part of rest) {
    const at = path.indexOf(part, from)
    if (at < 0) return false
    from = at + part.length
  }
  return path.length - end.length >= from && path.endsWith(end)
}

export interface Counted extends FaultCount {
  readonly fault: Pick<Fault, 'times' | 'every' | 'probability' | 'seed'>
  readonly number: number
}

export const isSpent = ({ fault, fired }: Pick<Counted, 'fault' | 'fired'>): boolean =>
  fired >= (fault.times ?? Number.POSITIVE_INFINITY)

/** The counts after one more match. If `fired` has grown, the fault happens to it. */
export function withMatch({ fault, number, ...counted }: Counted): Pick<FaultCount, 'matched' | 'fired'> {
  const matched = counted.matched + 1
  const turn = matched / (fault.every ?? 1)
  const isDue = Number.isInteger(turn) && !isSpent({ fault, fired: counted.fired })
  const { probability, seed = number } = fault
  const happens = isDue && (probability === undefined || drawn(seed, turn) < probability)
  return { matched, fired: counted.fired + Number(happens) }
}

/** What several processes have counted together. Each match is a small transaction of its own. */
export class SharedCounts {
  constructor(readonly storage: Pick<Storage, 'read' | 'write'>) {}

  read = (): Promise<readonly FaultCount[]> => this.storage.read(keptFaultCounts)

  /** Counts a match. Undefined if the fault is not armed any more, or not yet, or if the storage fails: then it does not happen. */
  async match(armed: Counted): Promise<{ readonly before: FaultCount; readonly after: FaultCount } | undefined> {
    const matching = this.storage.write(async (tx) => {
      const counts = await keptFaultCounts(tx)
      const before = counts.find(({ arming }) => arming === armed.arming)
      if (!before) return undefined
      const counted = { ...armed, ...before }
      if (isSpent(counted)) return { before, after: before }
      const after = { ...before, ...withMatch(counted) }
      const kept = counts.map((count) => (count === before ? after : count))
      keepFaultCounts(tx, kept)
      return { before, after }
    })
    return matching.catch((error: unknown) => {
      if (error instanceof StorageUnavailable) return undefined
      throw error
    })
  }
}

const STEP = 0x6d2b79f5

/**
 * Returns the n-th number that a seed draws, from 0 to 1 and the same each time: mulberry32, which is no source of secrets.
 * The first is number 1.
 */
export function drawn(seed: number, n: number): number {
  const state = ((seed | 0) + Math.imul(n, STEP)) | 0
  let mixed = Math.imul(state ^ (state >>> 15), state | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
