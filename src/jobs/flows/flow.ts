import { Problem } from '../../base/problem.js'
import type { ServiceContext, StoreAnswer } from '../../http/context.js'
import { type Claimant, isHeld, newClaim } from '../../storage/claim.js'
import type { Reader, Storage, Writer } from '../../storage/storage.js'
import { setTimer, type TimerJob } from '../schedule/timer.js'

interface Running extends Pick<ServiceContext, 'alarm' | 'instance' | 'log' | 'ongoing' | 'random'> {
  readonly storage: Storage
}

/**
 * Runs an operation of several named steps, which read from top to bottom. `createPurchase` is an example.
 *
 * From the first transaction on, closing the service waits for the flow, and nothing in this process takes over what it
 * claims. If a step throws, the steps before it are undone, the last one first. A problem as answer is thrown.
 */
export async function runFlow<Answer>(
  name: string,
  service: Running,
  steps: (run: FlowRun) => Promise<Answer | Problem>,
): Promise<Answer> {
  const run = new FlowRun(name, service)
  const answer = await steps(run)
    .catch((error: unknown) => run.undo(error))
    .finally(() => run.end())
  if (answer instanceof Problem) throw answer
  return answer
}

/** Ends what a step claimed. The problem that it returns is thrown instead of the error. */
type Undo<Made> = (tx: Writer, made: Made, error: unknown) => Promise<unknown>

/** One run of a flow. */
export class FlowRun {
  /** The claim that each step writes into what it claims. A later step changes a row only while it has that. */
  readonly token: string
  readonly #undos: ((tx: Writer, error: unknown) => Promise<unknown>)[] = []
  #step = ''
  #end = () => {}

  constructor(
    readonly name: string,
    readonly service: Running,
  ) {
    this.token = newClaim(service)
  }

  async transaction<Made>(step: string, body: (tx: Writer) => Promise<Made>, undo?: Undo<Made>): Promise<Made> {
    const { storage, ongoing } = this.service
    this.#step = step
    if (!ongoing.has(this.token)) ongoing.set(this.token, new Promise<void>((resolve) => (this.#end = resolve)))
    const made = await storage.write(body)
    if (undo) this.#undos.unshift((tx, error) => undo(tx, made, error))
    return made
  }

  /** Calls a port, outside of transactions. Throws an Error if it takes longer than `ms`. */
  effect<Result>(step: string, ms: number, call: () => Promise<Result>): Promise<Result> {
    this.#step = step
    return new Promise((resolve, reject) => {
      const late = new Error(`${this.name}: "${step}" took longer than ${ms} ms`)
      const cancel = this.service.alarm.set(ms, () => reject(late))
      call().then(resolve, reject).finally(cancel)
    })
  }

  /** Reads the answer once all is settled, and stores it. It counts even if it cannot be stored. */
  async answer<Answer>(body: (tx: Reader) => Promise<Answer>, storeAnswer: StoreAnswer<Answer>): Promise<Answer> {
    const { storage, log } = this.service
    const answer = await storage.read(body)
    await storage
      .write((tx) => storeAnswer(tx, answer))
      // The provisional answer says where to look.
      .catch((cause: unknown) => log.error(`${this.name}: the answer could not be stored`, cause))
    return answer
  }

  /** Undoes what it can, and throws. A timer or the next start takes the rest over. */
  async undo(error: unknown): Promise<never> {
    const { storage, log } = this.service
    let told: unknown
    for (const undo of this.#undos)
      told = await storage
        .write((tx) => undo(tx, error))
        .catch((cause: unknown) => log.error(`${this.name}: "${this.#step}" failed, and is not undone yet`, cause))
    if (!(told instanceof Problem)) throw error
    if (!(error instanceof Problem)) log.error(`${this.name}: "${this.#step}" failed`, error)
    throw told
  }

  end(): void {
    this.service.ongoing.delete(this.token)
    this.#end()
  }
}

/** The rows that runs of flows claim in one collection, and how a claim is taken over. */
export interface FlowClaims<Row> {
  /** Kind of the timer that takes a claim over. The claiming transaction sets it. */
  readonly timer: string
  /** How long a run may take, in milliseconds. */
  longestMs(service: Pick<ServiceContext, 'limits'>): number
  /** Returns the row that the subject of a timer names. Undefined: its claim has ended. */
  find(tx: Reader, subject: string): Promise<Row | undefined>
  /** Every row with a claim. */
  all(tx: Reader): AsyncIterable<Row>
  /** The token of the run. Null: nobody claims the row. */
  tokenOf(row: Row): string | null
  claimedAt(tx: Reader, row: Row): Promise<number>
  /** Ends a claim. If its run continues after all, it finds its token gone. */
  end(tx: Writer, row: Row, service: ServiceContext): Promise<unknown>
}

/** The shortest time between two looks at a claim. */
const GRACE_MS = 30_000

/** Takes over a claim whose time is over, unless its run is in progress here. */
export const takeOverLate =
  <Row>({ timer: kind, find, tokenOf, claimedAt, end }: FlowClaims<Row>): TimerJob =>
  async (tx, subject, service) => {
    const row = await find(tx, subject)
    if (row === undefined) return
    if (!service.ongoing.has(tokenOf(row) ?? '')) return void (await end(tx, row, service))
    // A sandbox's clock may have jumped while the run is in progress. Waiting that long again keeps looks rare.
    const now = service.clock.now()
    await setTimer(tx, { kind, subject, at: now + Math.max(GRACE_MS, now - (await claimedAt(tx, row))), now })
  }

/** Takes over every claim that nobody holds, as far as `claimant` knows. */
export async function takeOverAll<Row>(
  tx: Writer,
  { all, tokenOf, end }: FlowClaims<Row>,
  { service, claimant }: { readonly service: ServiceContext; readonly claimant: Claimant },
) {
  for await (const row of all(tx))
    if (tokenOf(row) !== null && !(await isHeld(tx, tokenOf(row), claimant))) await end(tx, row, service)
}

/** How often to check whether the process of another run is alive. */
const CHECK_MS = 1000

/**
 * Runs a flow that claims the row which `look` returns, once no other run holds it. It waits while another run is in
 * progress, here or in another process, and ends the claim of one whose process is dead. `run` returns undefined if another
 * was faster. Returns undefined if one takes longer than any run may, or if the service closes. Time is real here,
 * whatever the service's clock says.
 */
export async function runExclusively<Row, Answer>(
  { tokenOf, longestMs, end }: FlowClaims<Row>,
  { look, run }: { look(tx: Reader): Promise<Row>; run(): Promise<Answer | undefined> },
  service: ServiceContext,
): Promise<Answer | undefined> {
  const { storage, background, alarm } = service
  const read = async (tx: Reader) => {
    const row = await look(tx)
    return { row, token: tokenOf(row), held: await isHeld(tx, tokenOf(row), service) }
  }
  const wait = { token: undefined as string | null | undefined, isOver: false, stop: () => {} }
  try {
    for (;;) {
      const { value, changed } = await background.watch({ ms: CHECK_MS }, read)
      const { token, held } = value
      if (held && token !== wait.token) {
        wait.stop()
        Object.assign(wait, { token, isOver: false })
        wait.stop = alarm.set(longestMs(service), () => Object.assign(wait, { isOver: true }))
      }
      if (held && wait.isOver) return undefined
      if (!held && token !== null)
        await storage.write(async (tx) => {
          const now = await read(tx)
          if (now.token === token && !now.held) await end(tx, now.row, service)
        })
      const answer = held ? undefined : await run()
      if (answer !== undefined) return answer
      if (!(await changed)) return undefined
    }
  } finally {
    wait.stop()
  }
}
