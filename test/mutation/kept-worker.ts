import { type PoolOptions, type PoolWorker, ThreadsPoolWorker, type WorkerRequest } from 'vitest/node'

/** After so many runs the modules are loaded afresh, because a mutant may leave something behind in them. */
const RUNS_OF_A_THREAD = 150

type Listener = (message: unknown) => void

/** One thread that outlives its runs, with every module that it loaded: to load the service takes longer than most mutants. */
let thread: { readonly worker: ThreadsPoolWorker; runs: number } | undefined

/** Ends the thread, if there is one. */
export async function endThread(): Promise<void> {
  const ended = thread
  thread = undefined
  await ended?.worker.stop()
}

/** A worker of a pool of Vitest that leaves its thread to the next one. */
class KeptWorker implements PoolWorker {
  readonly name = 'kept'
  readonly #options: PoolOptions
  readonly #listeners: [event: string, listener: Listener][] = []
  #isNew = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  async start(): Promise<void> {
    if (thread && thread.runs >= RUNS_OF_A_THREAD) await endThread()
    if (!thread) {
      const worker = new ThreadsPoolWorker(this.#options)
      await worker.start()
      thread = { worker, runs: 0 }
      this.#isNew = true
    }
    thread.runs++
  }

  on(event: string, listener: Listener): void {
    this.#listeners.push([event, listener])
    thread?.worker.on(event, listener)
  }

  off(event: string, listener: Listener): void {
    thread?.worker.off(event, listener)
  }

  send(message: WorkerRequest): void {
    if (message.type === 'stop') this.#answer('stopped')
    else if (message.type === 'start' && !this.#isNew) this.#answer('started')
    // The thread knows only the settings that its first run started with.
    else if (message.type === 'run') this.#pass({ ...message, context: { ...message.context, config: this.#config } })
    else this.#pass(message)
  }

  async stop(): Promise<void> {
    for (const [event, listener] of this.#listeners.splice(0)) this.off(event, listener)
  }

  deserialize(message: unknown): unknown {
    return message
  }

  get #config(): unknown {
    return this.#options.project.serializedConfig
  }

  #pass(message: object): void {
    thread?.worker.send(message as WorkerRequest) // With its settings, which the type leaves out.
  }

  #answer(type: 'started' | 'stopped'): void {
    const answer = { type, __vitest_worker_response__: true }
    setImmediate(() => {
      for (const [event, listener] of [...this.#listeners]) if (event === 'message') listener(answer)
    })
  }
}

/** A pool for Vitest whose one thread stays between runs. */
export const keptPool = {
  name: 'kept',
  createPoolWorker: (options: PoolOptions): PoolWorker => new KeptWorker(options),
}
