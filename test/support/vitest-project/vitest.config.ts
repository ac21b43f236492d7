import { writeFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import type { TestModule } from 'vitest/node'
import { mswRelease } from '../msw-release.js'

/** What Vitest reports of a test. */
export interface ReportedTest {
  readonly name: string
  readonly state: string
  readonly errors: readonly string[]
  readonly annotations: readonly {
    readonly type: string
    readonly message: string
    readonly attachment?: { readonly body?: string | Uint8Array | undefined } | undefined
  }[]
}

export interface Report {
  readonly tests: readonly ReportedTest[]
  /** What went wrong outside of tests, such as in an `afterAll`. */
  readonly errors: readonly string[]
}

const messagesOf = (errors: readonly { message: string }[] = []): string[] => errors.map(({ message }) => message)

/** Writes what became of each test to the file that `REPORT` names. */
const reporter = {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { message: string }[]) {
    const report: Report = {
      tests: modules
        .flatMap(({ children }) => [...children.allTests()])
        .map((test) => ({
          name: test.name,
          state: test.result().state,
          errors: messagesOf(test.result().errors),
          annotations: test.annotations(),
        })),
      errors: messagesOf([...modules.flatMap((module) => module.errors()), ...unhandled]),
    }
    writeFileSync(process.env.REPORT ?? '', JSON.stringify(report))
  },
}

/** The project of someone who tests with `farthing/vitest`. It runs what was built. Some of its tests fail on purpose. */
export default defineConfig({
  plugins: [mswRelease()],
  test: {
    root: import.meta.dirname,
    include: ['*.cases.ts'],
    reporters: ['default', reporter],
    testTimeout: 15_000,
    ...{ pool: 'threads', maxWorkers: 1, isolate: false },
    // As it is for a package in `node_modules`. Only what Vitest loads finds the release that `FARTHING_MSW` names.
    server: { deps: { external: process.env.FARTHING_MSW ? [] : [/\/dist\//] } },
  },
})
