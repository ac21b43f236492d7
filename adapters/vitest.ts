import type { Seed, Service } from 'farthing'
import { type Client, client } from 'farthing/client'
import type { Rehearsal, RehearseOptions, RunTools } from 'farthing/rehearse'
import { test as base, type TestAPI, type TestContext } from 'vitest'
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
   * The server of `setupServer`, or the worker of `setupWorker`. The service of the running test answers its requests at or
   * below `baseUrl`. After each test, `resetHandlers` is called.
   */
  msw?: MswServer
}

/** Rehearses an application: `await rehearse((service) => buy(service.fetch))`. */
export type Rehearse = (
  run: (service: Service, tools: RunTools) => unknown,
  options?: RehearseOptions,
) => Promise<Rehearsal>

/** The part of MSW's servers and workers that tests need. */
export interface MswServer {
  use(...handlers: never[]): void
  resetHandlers(): void
}

/** What a test can ask for. */
export interface FarthingFixtures<S extends GivenSeed = Seed> {
  /** The service of this test: a fork of the seeded one. It is closed after the test. */
  service: Service
  /** The controls of `service`. */
  sandbox: Service['sandbox']
  /** A client of `service`. `client.as(seeded.users[0])` calls as a user. */
  client: Client
  /** What the seed created, with credentials. */
  seeded: SeededBy<S>
  codeFor: CodeFor
  /**
   * Runs an application without faults and then under many, each time on a fork of `service`. Throws an Error with the
   * report if it pays twice, or does something else that the ledger shows.
   */
  rehearse: Rehearse
  /** The service that all tests of this worker fork. */
  farthing: SeededService<S>
}

/**
 * Returns Vitest's `test` with a service for each test. The service is seeded once for each worker, and each test gets a
 * fork of it. A test that fails gets its journal as an annotation. Throws a TypeError that names a wrong option.
 */
export function farthingTest<const S extends GivenSeed = {}>({
  msw,
  ...options
}: FarthingTestOptions<S> = {}): TestAPI<FarthingFixtures<S>> {
  checkSeededOptions(options)
  if (msw !== undefined && typeof msw.use !== 'function')
    throw new TypeError('msw must be what setupServer() or setupWorker() of MSW returns.')
  const test = base.extend<FarthingFixtures<S>>({
    farthing: [
      // biome-ignore lint/correctness/noEmptyPattern: Vitest reads from the pattern what a fixture needs.
      async ({}, use) => {
        const farthing = await startSeeded(options)
        await use(farthing)
        await farthing.service.close()
      },
      { scope: 'worker' },
    ],
    seeded: [({ farthing }, use) => use(farthing.seeded), { scope: 'worker' }],
    service: async ({ farthing, task, annotate }, use) => {
      const fork = await farthing.service.sandbox.fork()
      await use(fork)
      try {
        if (hasFailed(task)) await attachJournal(fork, { task, annotate })
      } finally {
        await closeFork(fork)
      }
    },
    sandbox: ({ service }, use) => use(service.sandbox),
    client: ({ service }, use) => use(client(service)),
    codeFor: ({ service }, use) => use(mailedCodes(service)),
    rehearse: ({ service }, use) => use((run, options) => passRehearsal(service, run, options)),
  })
  return msw ? answering(msw, test) : test
}

/** Servers and workers of MSW that answer for the service of a test now. */
const taken = new WeakSet<MswServer>()

/** Connects the service of each test to MSW. */
function answering<S extends GivenSeed>(
  msw: MswServer,
  test: TestAPI<FarthingFixtures<S>>,
): TestAPI<FarthingFixtures<S>> {
  return test.extend<{ answers: undefined }>({
    answers: [
      async ({ service }, use) => {
        const { handlers } = await import('farthing/msw')
        if (taken.has(msw))
          throw new Error(
            'Two tests at once cannot share one MSW server: it would not know whose service to ask. Remove `concurrent`, or call `service.fetch` and `client` without `msw`.',
          )
        taken.add(msw)
        try {
          msw.use(...(handlers(service) as never[])) // Of the types of MSW, which is optional, this module has none.
          await use(undefined)
        } finally {
          msw.resetHandlers()
          taken.delete(msw)
        }
      },
      { auto: true },
    ],
  })
}

type Running = Pick<TestContext, 'task' | 'annotate'>

/** Whether it is reported as failed. `test.fails` turns the result around, later. */
const hasFailed = ({ result, fails }: TestContext['task']): boolean => (result?.state === 'fail') !== (fails === true)

async function attachJournal(service: Service, { task: { result }, annotate }: Running): Promise<void> {
  const report = await reportFailure(service)
  if (!report || !result) return
  const { state } = result
  const attachment = { contentType: 'application/json', body: report.json, bodyEncoding: 'utf-8' } as const
  let annotated: Promise<unknown> | undefined
  // Vitest accepts annotations only while a test runs, and knows only after that whether it failed.
  result.state = 'run'
  try {
    annotated = annotate(indented(report.text), 'journal', attachment)
  } finally {
    result.state = state
  }
  await annotated
}

/** Vitest indents only the first line of an annotation. */
const indented = (text: string): string => text.replaceAll('\n', '\n     ')
