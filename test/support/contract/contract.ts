import { afterEach, describe } from 'vitest'
import { getCurrentSuite } from 'vitest/suite'
import type { State } from '../../../src/index.js'
import type { ContractOptions, Running } from '../../runtimes/runtime.js'
import { runtimes } from '../../runtimes.js'
import { type Call, caller } from '../api.js'
import { startOf } from './start-of.js'

declare module 'vitest' {
  interface TestTags {
    /**
     * The rule: tag a case `it(title, { tags: 'everywhere' }, ...)` when a runtime can break it (headers, cookies, streams,
     * aborts, bodies, redirects, sizes), or when no tagged case answers its operation or its status yet. With
     * `['everywhere', 'pages']` it runs in a page too, which takes ten times as long: when a browser can break it. With
     * `['everywhere', 'pages', 'worker']` also in a service worker: when its events or its database can break it.
     */
    contract: 'everywhere' | 'pages' | 'worker'
  }
}

export interface Started extends Running {
  readonly call: Call
}

/** Starts a service for one test; it is closed after it. */
export interface Start {
  (options?: ContractOptions): Promise<Started>
  /** Starts it with a state: see `prepared`. */
  readonly over?: (state: State, options: ContractOptions) => Promise<Started>
}

/**
 * Declares contract tests. All of them run in process; each other runtime gets those with a tag, unless `npm run test:all`
 * asks for everything.
 */
export function contract(title: string, tests: (start: Start) => void): void {
  for (const runtime of runtimes)
    describe(`${title} (${runtime.name})`, () => {
      const open: Running[] = []
      afterEach(async () => {
        for (const running of open.splice(0)) await running.close()
      })
      tests(
        startOf(runtime, (running, { evidence }) => {
          open.push(running)
          return { ...running, call: caller({ ...running, runtime: runtime.name, evidence }) }
        }),
      )
      if (runtime.holds !== 'whole' && process.env.FARTHING_TEST_ALL === undefined) keepTagged(title, runtime.holds)
    })
}

/** Takes back what the current `describe` declares without a tag: a case that does not run here is not there to be skipped. */
function keepTagged(title: string, tag: string): void {
  const { tasks, suite } = getCurrentSuite()
  if (tasks.some(({ type }) => type !== 'test'))
    throw new Error(`The contract "${title}" has a describe inside: flatten it.`)
  const tagged = tasks.filter((task) => task.type === 'test' && task.tags?.includes(tag))
  tasks.splice(0, tasks.length, ...tagged)
  // A suite without tests fails, unless it is skipped.
  if (suite && tagged.length === 0) suite.mode = 'skip'
}
