import { createHash } from 'node:crypto'
import type { Storage } from '../../src/storage/storage.js'
import { acts } from './actors/acts.js'
import { type Beginning, STARTED } from './begin.js'
import { type CommitFault, type Connecting, SimulatedDatabase } from './machine/database.js'
import { SimulatedDisk } from './machine/disk.js'
import { Draws } from './machine/draws.js'
import { Outside } from './machine/outside.js'
import { watchPlatform } from './machine/platform.js'
import { SimulatedProcess } from './machine/process.js'
import { Timeline } from './machine/timeline.js'
import { type Moment, Traps } from './machine/traps.js'
import type { Plan, Step } from './plan.js'
import { checkAtRest } from './properties/at-rest.js'
import { PropertyBroken } from './properties/broken.js'
import { checkEvents } from './properties/followers.js'
import { checkLedger } from './properties/ledger.js'
import { Records } from './properties/records.js'
import { Sightings } from './properties/sightings.js'
import { World } from './world.js'

export interface Outcome {
  /** What was broken. Undefined if nothing was. */
  readonly failure: Error | undefined
  /** The same for the same plan. */
  readonly digest: string
  /** What happened, one line for each answer, fault and death. */
  readonly history: readonly string[]
  readonly sightings: Sightings
  /** What each operation was answered with. */
  readonly answered: ReadonlyMap<string, ReadonlySet<number>>
  /** How much time passed in the simulation, in milliseconds. */
  readonly passedMs: number
  readonly events: number
  readonly calls: number
}

const DAY = 86_400_000
/** Others take a process for dead that is silent for ten seconds. */
const HANGING_MS = [4000, 15_000, 90_000]
const REST_MS = 2 * 60_000

/** Runs a plan from the beginning to the end, when all faults have stopped and time has passed. */
export async function runPlan(plan: Plan, beginning: Beginning): Promise<Outcome> {
  const simulation = new Simulation(plan, beginning)
  const release = watchPlatform((ms, ring) => simulation.timeline.after(ms, ring))
  try {
    return await simulation.run()
  } finally {
    release()
  }
}

/** Where processes keep their state, and how the next writes of it go wrong. */
interface Keeping {
  open(own: Omit<Connecting, 'faults'>): Storage
  readonly disk?: SimulatedDisk
  readonly commitFaults: CommitFault[]
}

class Simulation {
  readonly timeline = new Timeline(STARTED + 60_000)
  readonly #plan: Plan
  readonly #draws: Draws
  readonly #sightings = new Sightings()
  readonly #records = new Records()
  readonly #traps = new Traps()
  readonly #outside: Outside
  readonly #keeping: Keeping
  readonly #world: World
  readonly #processes: (SimulatedProcess | undefined)[]
  /** Those that end in order, and where they were. They take no requests any more. */
  readonly #closing = new Map<SimulatedProcess, number>()
  #storage: Storage | undefined
  #running = 0
  /** How often a moment that was set has come. */
  #moments = 0
  #failure: Error | undefined

  constructor(plan: Plan, { tables, cast }: Beginning) {
    this.#plan = plan
    this.#draws = new Draws(`run ${plan.seed}`)
    const { timeline } = this
    const [draws, sightings] = [this.#draws, this.#sightings]
    this.#outside = new Outside(timeline, draws, sightings)
    this.#keeping = keepingOf(plan, tables, { timeline, draws, sightings })
    this.#processes = Array.from({ length: plan.setting === 'disk' ? 1 : draws.between(2, 3) }, () => undefined)
    this.#world = new World({
      cast: structuredClone(cast),
      ...{ timeline, draws, sightings, outside: this.#outside, records: this.#records },
      findProcess: (by) => {
        const alive = this.#processes.filter((process) => process?.isAlive)
        return alive.length > 0 ? by.pick(alive) : undefined
      },
      onBroken: (error) => (this.#failure ??= error),
    })
    for (const { name, token, clientSecret } of [...this.#world.cast.sellers, ...this.#world.cast.readers]) {
      this.#records.keepSecret(token, name, 'an access token')
      this.#records.keepSecret(clientSecret, name, 'a client secret')
    }
  }

  async run(): Promise<Outcome> {
    try {
      for (const place of this.#processes.keys()) this.#start(place)
      for (const step of this.#plan.steps) {
        await this.timeline.pass(step.gap)
        if (this.#failure) break
        await this.#take(step)
      }
      if (!this.#failure) await this.#comeToRest()
    } catch (error) {
      this.#failure ??= error as Error
    }
    for (const process of this.#processes) process?.kill()
    const { history, answered } = this.#world
    return {
      failure: this.#failure,
      digest: createHash('sha256').update(history.join('\n')).digest('hex').slice(0, 16),
      ...{ history, answered, sightings: this.#sightings },
      passedMs: this.timeline.now() - this.timeline.start,
      events: this.timeline.events,
      calls: this.#world.calls,
    }
  }

  /** Checks the ledger, from outside of the service. */
  async #audit(): Promise<void> {
    const process = this.#processes.find((each) => each?.isAlive)
    if (!process || !this.#storage) return
    const storage = this.#storage
    let isDone = false
    let failure: unknown
    checkLedger(storage)
      .catch((error: unknown) => (failure = error))
      .finally(() => (isDone = true))
    const end = this.timeline.now() + 60_000
    await this.timeline.runUntil(() => isDone || this.timeline.now() > end)
    if (failure instanceof PropertyBroken) throw failure
  }

  async #take(step: Step): Promise<void> {
    const { number, gap: _, ...told } = step
    this.#note(`step ${number} ${JSON.stringify(told)}`)
    switch (step.do) {
      case 'act':
        return this.#act(step.act, number)
      case 'trap':
        return this.#traps.set(step.moment, step.passes)
      case 'kill':
        return this.#kill(this.#draws.below(this.#processes.length))
      case 'lose power':
        return this.#losePower()
      case 'hang':
        return this.#hang(this.#draws.below(this.#processes.length))
      case 'restart':
        return this.#restart(this.#draws.below(this.#processes.length))
      case 'audit':
        return this.#audit()
      case 'fail commit':
        return void this.#keeping.commitFaults.push(step.how)
      case 'fail sync':
        return void this.#keeping.disk?.syncFaults.push(step.how)
      case 'fail port':
        return void this.#outside.faults[step.port].push(step.how)
      case 'fail network':
        return void this.#world.networkFaults.push(step.how)
      case 'sleep':
        return this.timeline.sleep(step.ms)
    }
  }

  #act(name: string, number: number): void {
    this.#running++
    const draws = new Draws(`act ${this.#plan.seed} ${number}`)
    acts[name]
      ?.run(this.#world, draws)
      .catch((error: Error) => (this.#failure ??= error))
      .finally(() => this.#running--)
  }

  #start(place: number): void {
    const process = new SimulatedProcess({
      ...{ timeline: this.timeline, draws: this.#draws, outside: this.#outside, traps: this.#traps },
      keepsJournal: this.#plan.keepsJournal,
      log: (message, cause) => this.#log(message, cause),
      open: (own) => {
        this.#storage = this.#keeping.open(own)
        return this.#storage
      },
      onDeath: (moment) => this.#died(place, moment),
      hangsFor: (moment) => this.#hangsFor(place, moment),
    })
    this.#processes[place] = process
    this.#note(`process ${place} starts`)
    // A request tries again what a failed start leaves undone.
    process.service.ready().catch(() => this.#note(`process ${place} could not start`))
  }

  #died(place: number, moment: Moment | 'killed'): void {
    this.#sightings.see(`a process dies: ${moment}`)
    this.#note(`process ${place} dies: ${moment}`)
    this.timeline.after(this.#draws.between(100, 3000), () => {
      if (!this.#processes[place]?.isAlive) this.#start(place)
    })
  }

  #kill(place: number): void {
    const process = this.#processes[place]
    if (!process?.isAlive) return
    process.kill()
    this.#died(place, 'killed')
  }

  #hang(place: number): void {
    const process = this.#processes[place]
    if (!process?.isAlive) return
    this.#sightings.see('a process hangs')
    this.#note(`process ${place} hangs`)
    process.hang(this.#draws.pick(HANGING_MS))
  }

  /** A process of several hangs at every other of the moments that are set. */
  #hangsFor(place: number, moment: Moment): number | undefined {
    if (this.#plan.setting === 'disk' || (this.#plan.seed + ++this.#moments) % 2 === 1) return undefined
    this.#sightings.see(`a process hangs: ${moment}`)
    this.#note(`process ${place} hangs: ${moment}`)
    return this.#draws.pick(HANGING_MS)
  }

  #losePower(): void {
    for (const place of this.#processes.keys()) this.#kill(place)
    for (const [process, place] of this.#closing) {
      process.kill()
      this.#died(place, 'killed')
    }
    this.#closing.clear()
    const missing = this.#keeping.disk?.losePower() ?? 0
    this.#note(`power lost, with ${missing} bytes that were promised`)
    if (missing === 0) return
    this.#sightings.see('a machine loses what its disk had promised')
    this.#records.forget()
  }

  #restart(place: number): void {
    const process = this.#processes[place]
    if (!process?.isAlive) return
    this.#processes[place] = undefined
    this.#closing.set(process, place)
    this.#note(`process ${place} closes`)
    process
      .close()
      .catch(() => {})
      .then(() => {
        process.kill()
        this.#closing.delete(process)
        if (!this.#processes[place]) this.#start(place)
      })
  }

  /** Faults stop, and time passes, until nothing should be left to do. */
  async #comeToRest(): Promise<void> {
    this.#traps.clear()
    this.#outside.clear()
    this.#keeping.commitFaults.length = 0
    if (this.#keeping.disk) this.#keeping.disk.syncFaults.length = 0
    this.#world.networkFaults.length = 0
    // Longer than a process hangs. Processes that idle make most of the events of a run, so no time passes for nothing.
    await this.timeline.pass(REST_MS)
    await this.#check((storage) => checkEvents(storage, this.#records))
    for (const ms of [DAY / 24, DAY, 7 * DAY]) {
      this.timeline.sleep(ms)
      await this.timeline.pass(REST_MS / 2)
    }
    this.timeline.sleep(31 * DAY)
    await this.timeline.pass(REST_MS)
    if (this.#failure) return
    if (this.#running > 0) throw new PropertyBroken(`Every call is answered: ${this.#running} acts have not ended`)
    await this.#audit()
    await this.#check((storage) => checkAtRest(storage, this.#records, this.#outside))
  }

  async #check(look: (storage: Storage) => Promise<void>): Promise<void> {
    let isDone = false
    look(this.#storage as Storage)
      .catch((error: Error) => (this.#failure ??= error))
      .finally(() => (isDone = true))
    await this.timeline.runUntil(() => isDone)
  }

  #log(message: string, cause: unknown): void {
    this.#note(`log: ${message}`)
    const names = ['TypeError', 'RangeError', 'ReferenceError', 'UniqueViolation']
    if (cause instanceof Error && names.includes(cause.name))
      this.#failure ??= new PropertyBroken(`No work meets a defect: ${message}: ${cause.stack}`)
  }

  #note(line: string): void {
    this.#world.history.push(`${this.timeline.now()} ${line}`)
  }
}

interface Parts {
  readonly timeline: Timeline
  readonly draws: Draws
  readonly sightings: Sightings
}

function keepingOf({ setting }: Plan, tables: Beginning['tables'], parts: Parts): Keeping {
  const { timeline, draws, sightings } = parts
  const commitFaults: CommitFault[] = []
  if (setting === 'disk') {
    const disk = new SimulatedDisk(tables, timeline, draws, sightings)
    return { open: (own) => disk.open(own), disk, commitFaults }
  }
  const database = new SimulatedDatabase(tables, timeline, draws, sightings)
  return { open: (own) => database.connect({ ...own, faults: commitFaults }), commitFaults }
}
