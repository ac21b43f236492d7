import { Problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import type { StoreAnswer } from '../../http/stored-answer.js'
import { newClaim } from '../../storage/claim.js'
import type { Reader, Storage, Writer } from '../../storage/storage.js'

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
  readonly #name: string
  readonly #service: Running
  readonly #undos: ((tx: Writer, error: unknown) => Promise<unknown>)[] = []
  #step = ''
  #end = () => {}

  constructor(name: string, service: Running) {
    this.#name = name
    this.#service = service
    this.token = newClaim(service)
  }

  async transaction<Made>(step: string, body: (tx: Writer) => Promise<Made>, undo?: Undo<Made>): Promise<Made> {
    const { storage, ongoing } = this.#service
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
      const late = new Error(`${this.#name}: "${step}" took longer than ${ms} ms`)
      const cancel = this.#service.alarm.set(ms, () => reject(late))
      call().then(resolve, reject).finally(cancel)
    })
  }

  /** Reads the answer once all is settled, and stores it. It counts even if it cannot be stored. */
  async answer<Answer>(body: (tx: Reader) => Promise<Answer>, storeAnswer: StoreAnswer<Answer>): Promise<Answer> {
    const { storage, log } = this.#service
    const answer = await storage.read(body)
    await storage
      .write((tx) => storeAnswer(tx, answer))
      // The provisional answer says where to look.
      .catch((cause: unknown) => log.error(`${this.#name}: the answer could not be stored`, cause))
    return answer
  }

  /** Undoes what it can, and throws. A timer or the next start takes the rest over. */
  async undo(error: unknown): Promise<never> {
    const { storage, log } = this.#service
    let told: unknown
    for (const undo of this.#undos)
      told = await storage
        .write((tx) => undo(tx, error))
        .catch((cause: unknown) => log.error(`${this.#name}: "${this.#step}" failed, and is not undone yet`, cause))
    if (!(told instanceof Problem)) throw error
    if (!(error instanceof Problem)) log.error(`${this.#name}: "${this.#step}" failed`, error)
    throw told
  }

  end(): void {
    this.#service.ongoing.delete(this.token)
    this.#end()
  }
}
