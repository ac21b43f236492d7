import {
  test as base,
  type PlaywrightTestArgs,
  type PlaywrightTestOptions,
  type PlaywrightWorkerArgs,
  type PlaywrightWorkerOptions,
  type TestInfo,
  type TestType,
} from '@playwright/test'
import { checkOptions, type Seed, type Service } from 'farthing'
import { type Client, client } from 'farthing/client'
import { serve } from 'farthing/node'
import type { Rehearsal, RehearseOptions, RunTools } from 'farthing/rehearse'
import { environmentOf } from './testing/environment.js'
import { reportFailure } from './testing/failure-report.js'
import { passRehearsal } from './testing/pass-rehearsal.js'
import {
  type CodeFor,
  checkSeededOptions,
  closeFork,
  type GivenSeed,
  mailedCodes,
  type SeededBy,
  type SeededService,
  type SeededServiceOptions,
  startSeeded,
} from './testing/seeded-service.js'

export type { CodeFor, GivenSeed, SeededBy, SeededService, SeededServiceOptions }

export interface FarthingTestOptions<S extends GivenSeed = Seed> extends SeededServiceOptions<S> {
  /**
   * The port at which the sandbox of a worker listens. Set it if your app must know the address before the tests start, and
   * set `workers: 1`. Default: a free one.
   */
  port?: number
}

/** What each test has. */
export interface FarthingFixtures {
  /** The service of this test: a fork of the seeded one, at the address of the worker's sandbox. It is closed after the test. */
  service: Service
  /** The controls of `service`. */
  sandbox: Service['sandbox']
  /** A client of `service`. `client.as(seeded.users[0])` calls as a user. */
  client: Client
  codeFor: CodeFor
  /**
   * Runs a journey without faults and then under many. Each run has a fork of `service` at the same address: begin it with
   * a new page. Throws an Error with the report if the ledger shows a fault of the application.
   */
  rehearse: Rehearse
}

/** Rehearses a journey: `await rehearse(async () => { await page.goto('/shop') })`. */
export type Rehearse = (
  run: (service: Service, tools: RunTools) => unknown,
  options?: RehearseOptions,
) => Promise<Rehearsal>

/** What the tests of a worker share. */
export interface FarthingWorkerFixtures<S extends GivenSeed = Seed> {
  /** The sandbox of the worker. */
  farthing: FarthingWorker<S>
  /** What the seed created, with credentials. */
  seeded: SeededBy<S>
}

/**
 * Returns Playwright's `test` with a sandbox. Each worker serves one, seeded once, and each test gets a fork of it at the
 * same address. A test that fails has its journal in the report and in the trace. Throws a TypeError that names a wrong
 * option.
 */
export function farthingTest<const S extends GivenSeed = {}>({
  port = 0,
  ...options
}: FarthingTestOptions<S> = {}): TestType<
  PlaywrightTestArgs & PlaywrightTestOptions & FarthingFixtures,
  PlaywrightWorkerArgs & PlaywrightWorkerOptions & FarthingWorkerFixtures<S>
> {
  checkSeededOptions(options)
  checkOptions('serve', { port })
  const server = new SandboxServer(options, port)
  return base.extend<FarthingFixtures, FarthingWorkerFixtures<S>>({
    farthing: [
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads from the pattern what a fixture needs.
      async ({}, use) => {
        const { close, ...worker } = await server.start()
        await use(worker)
        await close()
      },
      { scope: 'worker' },
    ],
    seeded: [({ farthing }, use) => use(farthing.seeded), { scope: 'worker' }],
    service: [
      async ({ farthing }, use, testInfo) => {
        const { fork, end } = await server.begin(farthing.service)
        await use(fork)
        try {
          if (testInfo.status !== testInfo.expectedStatus) await attachJournal(fork, testInfo)
        } finally {
          await end()
        }
      },
      { auto: true },
    ],
    sandbox: ({ service }, use) => use(service.sandbox),
    client: ({ service }, use) => use(client(service)),
    codeFor: ({ service }, use) => use(mailedCodes(service)),
    rehearse: ({ service }, use) =>
      use((run, options) =>
        passRehearsal(service, (fork, tools) => server.during(fork, async () => run(fork, tools)), options),
      ),
  })
}

/** The terminal shows the beginning of each text, so the explanation is one of its own. */
async function attachJournal(service: Service, testInfo: TestInfo): Promise<void> {
  const report = await reportFailure(service)
  if (!report) return
  const { explanation, entries, json } = report
  if (explanation !== undefined) await testInfo.attach('explanation', { body: explanation, contentType: 'text/plain' })
  await testInfo.attach('journal', { body: entries, contentType: 'text/plain' })
  await testInfo.attach('journal.json', { body: json, contentType: 'application/json' })
}

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
class SandboxServer<S extends GivenSeed> {
  #answer: Respond = async () => new Response(null, { status: 503 })
  #answerOfTest: Respond | undefined

  constructor(
    readonly options: SeededServiceOptions<S>,
    readonly port: number,
  ) {}

  async start(): Promise<FarthingWorker<S> & { close(): Promise<void> }> {
    const respond: Respond = (request, source) => (this.#answerOfTest ?? this.#answer)(request, source)
    const served = await serve({ respond }, { port: this.port })
    try {
      const { service, seeded } = await startSeeded({ baseUrl: served.url, ...this.options })
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

  /** Answers with a fork while something runs, and then as before. */
  async during<T>(fork: Service, run: () => Promise<T>): Promise<T> {
    const before = this.#answerOfTest
    const ending = new AbortController()
    this.#answerOfTest = (request, source) => fork.respond(request, { ...source, ending: ending.signal })
    try {
      return await run()
    } finally {
      this.#answerOfTest = before
      ending.abort()
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
