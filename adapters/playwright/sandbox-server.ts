import type { Service } from 'farthing'
import { serve } from 'farthing/node'
import { environmentOf } from '../testing/environment.js'
import {
  closeFork,
  type GivenSeed,
  type SeededService,
  type SeededServiceOptions,
  startSeeded,
} from '../testing/seeded-service.js'

/** The sandbox of a worker. Its address is the same for each test. */
export interface FarthingWorker<S extends GivenSeed> extends SeededService<S> {
  /** `http://127.0.0.1:53412` */
  readonly url: string
  /**
   * `FARTHING_URL`, and the credentials of the seed's first account and first user: the environment variables that
   * `farthing exec` sets.
   */
  readonly env: Readonly<Record<string, string>>
}

type Respond = Service['respond']

/**
 * Serves the fork of the running test, and the seeded service before and between tests. A worker runs one test at a time.
 * A fork below `/_sandbox/forks` would not do: its pages are controls, which no page of another origin may frame.
 */
export class SandboxServer<S extends GivenSeed> {
  readonly #options: SeededServiceOptions<S>
  readonly #port: number
  #answer: Respond = async () => new Response(null, { status: 503 })
  #answerOfTest: Respond | undefined

  constructor(options: SeededServiceOptions<S>, port: number) {
    this.#options = options
    this.#port = port
  }

  async start(): Promise<FarthingWorker<S> & { close(): Promise<void> }> {
    const respond: Respond = (request, source) => (this.#answerOfTest ?? this.#answer)(request, source)
    const served = await serve({ respond }, { port: this.#port })
    try {
      const { service, seeded } = await startSeeded({ baseUrl: served.url, ...this.#options })
      this.#answer = service.respond
      return {
        service,
        seeded,
        url: service.baseUrl,
        env: environmentOf(service.baseUrl, await service.sandbox.credentials()),
        async close() {
          await served.close()
          await service.close()
        },
      }
    } catch (error) {
      await served.close()
      throw error
    }
  }

  /** Answers with a fork of the service from now on. `end` closes it. */
  async begin(service: Service): Promise<{ readonly fork: Service; end(): Promise<void> }> {
    const fork = await service.sandbox.fork()
    const ending = new AbortController()
    // The signal of the server would hold each fork until the worker ends.
    this.#answerOfTest = (request, source) => fork.respond(request, { ...source, ending: ending.signal })
    return {
      fork,
      end: async () => {
        this.#answerOfTest = undefined
        ending.abort()
        await closeFork(fork)
      },
    }
  }
}
