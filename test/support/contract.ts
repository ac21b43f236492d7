import { afterEach, describe } from 'vitest'
import type { ContractOptions, Running } from '../runtimes/runtime.js'
import { runtimes } from '../runtimes.js'
import { type Call, caller } from './api.js'

export interface Started extends Running {
  readonly call: Call
}

/** Starts a service for one test; it is closed after it. */
export type Start = (options?: ContractOptions) => Promise<Started>

/** Declares contract tests, on every runtime. */
export function contract(title: string, tests: (start: Start) => void): void {
  for (const runtime of runtimes)
    describe(`${title} (${runtime.name})`, () => {
      const open: Running[] = []
      afterEach(async () => {
        for (const running of open.splice(0)) await running.close()
      })
      tests(async (options = {}) => {
        const running = await runtime.start(options)
        open.push(running)
        return { ...running, call: caller(running) }
      })
    })
}
