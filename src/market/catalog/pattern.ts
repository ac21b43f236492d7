type Leaf =
  | { readonly op: 'char'; readonly matches: (character: string) => boolean }
  | { readonly op: 'assert'; readonly holds: Assertion }

/** A `jump` continues at `to`, a `fork` at `to` and at the next step, a leaf at the next step. */
type Step = Leaf | { readonly op: 'jump' | 'fork'; to: number }

type Node =
  | Leaf
  | { readonly op: 'all' | 'any'; readonly nodes: readonly Node[] }
  | { readonly op: 'repeat'; readonly node: Node; readonly min: number; readonly max: number }

/** Whether a position between two characters matches. `before` or `after` is undefined at an end of the text. */
type Assertion = (before: string | undefined, after: string | undefined) => boolean

/** Prefix of the format names that stand for patterns. */
export const PATTERN = 'pattern '

/** Why a regular expression is not accepted. */
export class PatternFault extends Error {
  override name = 'PatternFault'
}

export interface Pattern {
  /** The most steps for each character of a text. */
  readonly size: number
  test(text: string): boolean
}

/** Compiles a pattern whose test takes time proportional to the length of the text, whatever the pattern. Throws `PatternFault`. */
export function compilePattern(source: string, limit: number, effort: Pick<Effort, 'spend'> = unlimited): Pattern {
  effort.spend(source.length >> 3)
  try {
    new RegExp(source, 'u')
  } catch {
    throw new PatternFault('is not a regular expression')
  }
  const steps = new Emitter(limit).emit(new Parser(source, effort).parse())
  return { size: steps.length + 1, test: (text) => run(steps, Array.from(text), effort) }
}

const unlimited = { spend() {} }

class Parser {
  readonly #classes = new Map<string, Node>()
  #at = 0
  #depth = 0

  constructor(
    private readonly source: string,
    private readonly effort: Pick<Effort, 'spend'>,
  ) {}

  parse(): Node {
    const choices: Node[] = [this.#sequence()]
    while (this.#take('|')) choices.push(this.#sequence())
    return { op: 'any', nodes: choices }
  }

  #sequence(): Node {
    const nodes: Node[] = []
    while (this.#at < this.source.length && !/[|)]/.test(this.source.charAt(this.#at)))
      nodes.push(this.#repeated(this.#atom()))
    return { op: 'all', nodes }
  }

  #atom(): Node {
    if (this.#take('(')) return this.#group()
    if (this.#take('^')) return { op: 'assert', holds: (before) => before === undefined }
    if (this.#take('$')) return { op: 'assert', holds: (_, after) => after === undefined }
    if (this.#take('\\b')) return { op: 'assert', holds: isBoundary }
    if (this.#take('\\B')) return { op: 'assert', holds: (before, after) => !isBoundary(before, after) }
    const set = this.#match(/\[(?:\\[\s\S]|[^\]\\])*\]|\.|\\[pP]\{[^}]*\}|\\u\{[^}]*\}|\\x..|\\c./uy)
    const pair = set ?? this.#match(/\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\u..../uy)
    if (pair !== undefined) return this.#oneOf(pair)
    const escaped = this.#match(/\\[\s\S]/uy)
    if (escaped !== undefined && /[1-9k]/.test(escaped)) throw new PatternFault('uses a back-reference')
    if (escaped !== undefined) return this.#oneOf(escaped)
    const literal = this.#match(/[\s\S]/uy)
    return { op: 'char', matches: (character) => character === literal }
  }

  #group(): Node {
    if (this.source[this.#at] === '?' && this.#match(/\?(?::|<(?![=!])[^>]*>)/uy) === undefined)
      throw new PatternFault('uses a look-around')
    if (++this.#depth > MAX_GROUP_DEPTH) throw new PatternFault(`nests more than ${MAX_GROUP_DEPTH} groups`)
    const node = this.parse()
    this.#depth--
    this.#take(')')
    return node
  }

  #oneOf(source: string): Node {
    const known = this.#classes.get(source)
    if (known) return known
    this.effort.spend(CLASS_STEPS + PROPERTY_STEPS * (source.match(/\\[pP]\{/g)?.length ?? 0))
    const node = oneOf(source)
    this.#classes.set(source, node)
    return node
  }

  #repeated(node: Node): Node {
    const [, symbol, min, comma, max] = this.#groups(/(?:([*+?])|\{(\d+)(?:(,)(\d+)?)?\})\??/uy) ?? []
    if (symbol !== undefined)
      return { op: 'repeat', node, min: symbol === '+' ? 1 : 0, max: symbol === '?' ? 1 : Number.POSITIVE_INFINITY }
    if (min === undefined) return node
    const open = comma === undefined ? Number(min) : Number.POSITIVE_INFINITY
    return { op: 'repeat', node, min: Number(min), max: max === undefined ? open : Number(max) }
  }

  #take(text: string): boolean {
    const isThere = this.source.startsWith(text, this.#at)
    if (isThere) this.#at += text.length
    return isThere
  }

  #match = (sticky: RegExp): string | undefined => this.#groups(sticky)?.[0]

  #groups(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at
    const found = sticky.exec(this.source)
    this.#at += found?.[0].length ?? 0
    return found ?? undefined
  }
}

const MAX_GROUP_DEPTH = 50

/** Steps for compiling a class, and for each Unicode property that it names. */
const CLASS_STEPS = 60
const PROPERTY_STEPS = 1500

/** A class or escape, tested by the runtime's own expression for a single character. */
function oneOf(source: string): Node {
  const own = new RegExp(`^(?:${source})$`, 'u')
  const known = new Map<string, boolean>()
  const matches = (character: string): boolean => {
    const seen = known.get(character)
    if (seen !== undefined) return seen
    const isOne = own.test(character)
    if (known.size < MAX_REMEMBERED) known.set(character, isOne)
    return isOne
  }
  return { op: 'char', matches }
}

const MAX_REMEMBERED = 256
const isWord = (character: string | undefined): boolean => character !== undefined && /^\w$/.test(character)
const isBoundary: Assertion = (before, after) => isWord(before) !== isWord(after)

class Emitter {
  readonly #steps: Step[] = []
  #work = 0

  constructor(private readonly limit: number) {}

  emit(node: Node): readonly Step[] {
    this.#add(node)
    return this.#steps
  }

  #add(node: Node): void {
    if (++this.#work > 4 * this.limit || this.#steps.length > this.limit)
      throw new PatternFault('is too long or repeats too often: limit lengths with maxLength')
    if (node.op === 'char' || node.op === 'assert') this.#steps.push(node)
    else if (node.op === 'repeat') this.#repeat(node.node, node.min, node.max)
    else if (node.op === 'any') this.#choose(node.nodes)
    else for (const each of node.nodes) this.#add(each)
  }

  #choose(nodes: readonly Node[]): void {
    const ends: { to: number }[] = []
    for (const [at, node] of nodes.entries()) {
      const fork = at < nodes.length - 1 ? this.#fork('fork') : undefined
      this.#add(node)
      if (!fork) continue
      ends.push(this.#fork('jump'))
      fork.to = this.#steps.length
    }
    for (const end of ends) end.to = this.#steps.length
  }

  #repeat(node: Node, min: number, max: number): void {
    for (let n = 0; n < min; n++) this.#add(node)
    const start = this.#steps.length
    const forks: { to: number }[] = []
    for (let n = min; n < (max === Number.POSITIVE_INFINITY ? min + 1 : max); n++) {
      forks.push(this.#fork('fork'))
      this.#add(node)
    }
    if (max === Number.POSITIVE_INFINITY) this.#fork('jump').to = start
    for (const fork of forks) fork.to = this.#steps.length
  }

  #fork(op: 'jump' | 'fork'): { to: number } {
    const step: Step = { op, to: 0 }
    this.#steps.push(step)
    return step
  }
}

/** How many steps of a pattern make one step of effort. */
const VISITS_PER_STEP = 8

/** Follows all paths at the same time, so it visits each step once for each character. */
function run(steps: readonly Step[], text: readonly string[], effort: Pick<Effort, 'spend'>): boolean {
  effort.spend((text.length + steps.length) >> 4)
  const seen = new Int32Array(steps.length + 1).fill(-1)
  let reached: number[] = []
  const visit = (first: number, at: number): void => {
    const open = [first]
    for (let step = open.pop(); step !== undefined; step = open.pop()) {
      if (seen[step] === at) continue
      seen[step] = at
      visits++
      const known = steps[step]
      if (known?.op === 'fork') open.push(known.to, step + 1)
      else if (known?.op === 'jump') open.push(known.to)
      else if (known?.op !== 'assert') reached.push(step)
      else if (known.holds(text[at - 1], text[at])) open.push(step + 1)
    }
  }
  let visits = 0
  for (let at = 0; ; at++) {
    // The number of visits for one character is at most the number of steps.
    effort.spend(visits / VISITS_PER_STEP)
    visits = reached.length
    const before = reached
    reached = []
    const last = text[at - 1]
    for (const step of before) {
      const known = steps[step]
      if (known?.op === 'char' && last !== undefined && known.matches(last)) visit(step + 1, at)
    }
    visit(0, at)
    if (reached.includes(steps.length)) return true
    if (at === text.length) return false
  }
}

/** Thrown when a check needs more steps than its limit. */
export class EffortExceeded extends Error {
  override name = 'EffortExceeded'
}

/** Limit of steps for one check. An ordinary machine does this many in at most 20 milliseconds. */
export const MAX_STEPS = 60_000

/** Counts the work of a check. One step is about what a validator does in a third of a microsecond. */
export class Effort {
  constructor(public left = MAX_STEPS) {}

  /** Spends steps. Call it before the work. Throws `EffortExceeded`. */
  spend(steps: number): void {
    this.left -= steps
    if (this.left < 0) throw new EffortExceeded('too many steps')
  }
}

/** Whether JSON is nested deeper than `levels`. Reads no deeper than that. */
export const isDeeperThan = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((part) => isDeeperThan(part, levels - 1)))
