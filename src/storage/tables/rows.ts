import { compareParts } from '../key.js'
import type { Key, Row } from '../storage.js'

/** How far past the last id the chunks may grow, leaving the places between empty. */
const WIDEST_GAP = 1024
/** From how many empty places at the start on chunks are dropped, if these are more than half of all. */
const WORTH_CUTTING = 1024

/** How many places a chunk has, as a power of 2. */
const CHUNK_BITS = 9
const CHUNK = 1 << CHUNK_BITS

/** A list of rows that begins at a multiple of this number may stay unread until somebody asks for one of them. */
export const ROWS_PER_CHUNK = CHUNK

type Chunk<R> = (R | undefined)[]

/** Stored rows of one chunk that nobody has read yet. */
export interface UnreadRows {
  /** The id that the chunk begins with: a multiple of `ROWS_PER_CHUNK`. */
  readonly first: number
  readonly count: number
  /** Its rows in the order of their ids, which are whole numbers. */
  read(): readonly Row[]
  /** These fields of its rows, and perhaps others. */
  parts(fields: readonly string[]): Iterable<object>
}

/**
 * Rows by id. Rows with consecutive numbers are in chunks of an array, because adding to a large map takes several
 * times as long, and because the array is their order by id. Copies share chunks until one of them is written.
 */
export class Rows<R extends Row> {
  #chunks: Chunk<R>[] = []
  /** Which chunks belong to other rows too. Undefined: none. */
  #isShared: boolean[] | undefined
  #length = 0
  /** The id of the first place. */
  #first = 0
  /** How many places at the start are empty, at least. */
  #leading = 0
  #named = new LayeredMap<Key, R>()
  #count = 0
  /** Chunks that nobody has read yet, by their number. */
  #unread = new Map<number, UnreadRows>()

  get size(): number {
    return this.#count + this.#named.size
  }

  get(id: Key): R | undefined {
    if (typeof id === 'number') {
      const place = id - this.#first
      // `#at` without a call, because every read comes here. A place that is no whole number, or negative, has no chunk.
      const row = place < this.#length ? this.#chunks[Math.floor(place / CHUNK)]?.[place % CHUNK] : undefined
      if (row) return row
      if (this.#unread.size > 0 && this.#load(place)) return this.get(id)
      if (this.#named.size === 0) return undefined
    }
    return this.#named.get(id)
  }

  /** Adds rows of a chunk that has none yet. They are read when somebody asks for one of them. */
  addUnread(unread: UnreadRows): void {
    const start = this.#length === 0 ? unread.first : this.#first
    const at = (unread.first - start) / CHUNK
    const isNext = at * CHUNK >= this.#length && at * CHUNK <= this.#length + WIDEST_GAP && this.#named.size === 0
    if (!isNext) {
      for (const row of unread.read()) this.set(row.id, row as R) // Whoever added them says so.
      return
    }
    this.#first = start
    this.#unread.set(at, unread)
    this.#count += unread.count
    this.#length = (at + 1) * CHUNK
  }

  /** The chunks that nobody has read yet, in the order of their ids. */
  unread(): UnreadRows[] {
    return [...this.#unread.values()] // In this order, because each was added after those before it.
  }

  /** Reads the chunk of a place, if nobody has read it yet. Returns whether it did. */
  #load(place: number): boolean {
    const at = Math.floor(place / CHUNK)
    const unread = this.#unread.get(at)
    if (!unread) return false
    const chunk: Chunk<R> = []
    for (const row of unread.read()) chunk[Number(row.id) - unread.first] = row as R // Whoever added them says so.
    this.#chunks[at] = chunk
    this.#unread.delete(at)
    if (this.#length === (at + 1) * CHUNK) this.#length = at * CHUNK + chunk.length
    return true
  }

  #readAll(): void {
    for (const at of [...this.#unread.keys()]) this.#load(at * CHUNK)
  }

  set(id: Key, row: R): void {
    if (typeof id !== 'number' || !this.#isNumbered(id)) {
      this.#named.set(id, row)
      return
    }
    const place = id - this.#first
    while (this.#length < place) this.#write(this.#length++, undefined)
    // `#at` reads the chunk of the place if nobody has yet.
    const isNew = place === this.#length || this.#at(place) === undefined
    this.#write(place, row)
    if (place === this.#length) this.#length++
    if (!isNew) return
    if (place < this.#leading) this.#leading = place
    this.#count++
  }

  delete(id: Key): void {
    const place = typeof id === 'number' ? id - this.#first : -1
    if (this.#at(place) === undefined) {
      this.#named.delete(id)
      return
    }
    this.#write(place, undefined)
    this.#count--
    if (this.#at(this.#leading) === undefined) this.#cut()
  }

  /** Every row, in no order. Later changes don't show in it. */
  all(): R[] {
    this.#readAll()
    const numbered = this.#chunks.flatMap((chunk) => chunk.filter((row) => row !== undefined))
    return this.#named.size === 0 ? numbered : numbered.concat([...this.#named.values()])
  }

  /** Some fields of every row, in no order. Rows that nobody has read yet stay unread. */
  *parts(fields: readonly (keyof R & string)[]): Generator<R> {
    yield* this.alreadyRead()
    for (const unread of this.#unread.values()) yield* unread.parts(fields) as Iterable<R> // The fields that were asked for.
  }

  /** Every row in the order of the ids. Later changes don't show in it. */
  inOrder(): R[] {
    this.#readAll()
    return this.alreadyRead()
  }

  /** The rows that were read, or put since, in the order of the ids. Later changes don't show in it. */
  alreadyRead(): R[] {
    const numbered = this.#chunks.flatMap((chunk) => chunk.filter((row) => row !== undefined))
    if (this.#named.size === 0) return numbered
    const named = [...this.#named.values()].sort(byId)
    const last = numbered.at(-1)
    const next = named[0]
    if (!last || !next || byId(last, next) < 0) return numbered.concat(named)
    return numbered.concat(named).sort(byId)
  }

  /** Rows whose id is a number of the chunks, in order, strictly past `after`. */
  *numbered(after: number | undefined, reverse: boolean): Generator<R> {
    const from = after === undefined ? undefined : after - this.#first
    if (reverse) {
      const start = from === undefined ? this.#length : Math.min(this.#length, Math.ceil(from))
      for (let place = start - 1; place >= this.#leading; place--) {
        const row = this.#at(place)
        if (row) yield row
      }
      return
    }
    const start = from === undefined ? this.#leading : Math.max(this.#leading, Math.floor(from) + 1)
    for (let place = start; place < this.#length; place++) {
      const row = this.#at(place)
      if (row) yield row
    }
  }

  /** Whether a row with this id is, or would be, outside the chunks. */
  isNamed(id: Key): boolean {
    return this.#named.get(id) !== undefined || !this.#isNumbered(id)
  }

  named(): Iterable<R> {
    return this.#named.values()
  }

  /** The same rows. Nothing may be written to these any more. */
  copy(): Rows<R> {
    const copy = new Rows<R>()
    copy.#chunks = this.#chunks.slice()
    copy.#isShared = new Array<boolean>(this.#chunks.length).fill(true)
    copy.#length = this.#length
    copy.#first = this.#first
    copy.#leading = this.#leading
    copy.#named = this.#named.copy()
    copy.#count = this.#count
    copy.#unread = new Map(this.#unread)
    return copy
  }

  #isNumbered(id: Key): id is number {
    if (typeof id !== 'number' || !Number.isInteger(id) || id < this.#first) return false
    return (
      id <= this.#first + this.#length + WIDEST_GAP && (this.#named.size === 0 || this.#named.get(id) === undefined)
    )
  }

  #at(place: number): R | undefined {
    // An id may be a fraction.
    if (place < 0 || place >= this.#length || !Number.isInteger(place)) return undefined
    const row = this.#chunks[place >> CHUNK_BITS]?.[place & (CHUNK - 1)]
    return row === undefined && this.#unread.size > 0 && this.#load(place) ? this.#at(place) : row
  }

  #write(place: number, row: R | undefined): void {
    const at = place >> CHUNK_BITS
    let chunk = this.#chunks[at]
    if (!chunk) this.#chunks[at] = chunk = []
    else if (this.#isShared?.[at]) {
      this.#chunks[at] = chunk = chunk.slice()
      this.#isShared[at] = false
    }
    chunk[place & (CHUNK - 1)] = row
  }

  /** Passes the empty places at the start, and drops their chunks when they are most of all. */
  #cut(): void {
    while (this.#leading < this.#length && this.#at(this.#leading) === undefined) this.#leading++
    if (this.#leading < WORTH_CUTTING || this.#leading * 2 < this.#length) return
    const chunks = this.#leading >> CHUNK_BITS
    this.#chunks = this.#chunks.slice(chunks)
    this.#isShared = this.#isShared?.slice(chunks)
    this.#unread = new Map([...this.#unread].map(([at, unread]) => [at - chunks, unread]))
    this.#first += chunks << CHUNK_BITS
    this.#length -= chunks << CHUNK_BITS
    this.#leading -= chunks << CHUNK_BITS
  }
}

const byId = (a: Row, b: Row): number => compareParts(a.id, b.id)

/** What a layer holds for a key that a newer layer removed. */
const REMOVED = Symbol('removed')
type Layer<K, V> = Map<K, V | typeof REMOVED>

/** A map whose copies share what they hold. Each layer replaces parts of those before, and only the newest is written. */
export class LayeredMap<K, V> {
  #own: Layer<K, V> = new Map()
  /** The oldest first. Nothing changes them. */
  #layers: readonly Layer<K, V>[] = []
  /** How many keys it has. Rows ask each time, so it is no getter. */
  size = 0

  get(key: K): V | undefined {
    // Stryker disable next-line ConditionalExpression,EqualityOperator: without layers nothing is below either
    const value = this.#own.get(key) ?? (this.#layers.length > 0 ? this.#below(key) : undefined)
    return value === REMOVED ? undefined : value
  }

  set(key: K, value: V): void {
    // Stryker disable next-line ConditionalExpression,EqualityOperator: without layers nobody asks for it
    const known = this.#layers.length > 0 ? (this.#own.get(key) ?? this.#below(key)) : undefined
    this.#own.set(key, value)
    if (this.#layers.length === 0) this.size = this.#own.size
    else if (known === undefined || known === REMOVED) this.size++
  }

  delete(key: K): void {
    if (this.get(key) === undefined) return
    this.size--
    if (this.#below(key) === undefined) this.#own.delete(key)
    else this.#own.set(key, REMOVED)
  }

  /** Every value, in no order. */
  *values(): Generator<V> {
    for (const [at, layer] of [...this.#layers, this.#own].entries())
      for (const [key, value] of layer) if (value !== REMOVED && !this.#isReplaced(key, at)) yield value
  }

  /** A map with the same content. Nothing may be written to this one any more. */
  copy(): LayeredMap<K, V> {
    const copy = new LayeredMap<K, V>()
    copy.#layers = this.#own.size === 0 ? this.#layers : joined([...this.#layers, this.#own])
    copy.size = this.size
    return copy
  }

  #below(key: K): V | typeof REMOVED | undefined {
    for (let at = this.#layers.length - 1; at >= 0; at--) {
      const value = this.#layers[at]?.get(key)
      if (value !== undefined) return value
    }
    return undefined
  }

  #isReplaced(key: K, at: number): boolean {
    for (let newer = at + 1; newer < this.#layers.length; newer++) if (this.#layers[newer]?.has(key)) return true
    return at < this.#layers.length && this.#own.has(key)
  }
}

/** Joins layers until each is more than twice as large as the next, so that there are few, and rarely joins large ones. */
function joined<K, V>(layers: Layer<K, V>[]): Layer<K, V>[] {
  for (;;) {
    const newer = layers.at(-1)
    const older = layers.at(-2)
    // Stryker disable next-line EqualityOperator: when layers are joined changes what they cost, not what they hold
    if (!newer || !older || older.size > 2 * newer.size) return layers
    const both: Layer<K, V> = new Map(older)
    for (const [key, value] of newer)
      if (value === REMOVED && layers.length === 2) both.delete(key)
      else both.set(key, value)
    layers.splice(-2, 2, both)
  }
}
