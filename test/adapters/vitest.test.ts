import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { farthingTest } from '../../adapters/vitest.js'
import { setUp } from '../support/set-up.js'
import type { Report, ReportedTest } from '../support/vitest-project/vitest.config.js'

/** One run of Vitest in the project of someone who uses `farthing/vitest`. Some of its tests fail on purpose. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const config = join(root, 'test/support/vitest-project/vitest.config.ts')

let printed = ''
let report: Report = { tests: [], errors: [] }

beforeAll(async () => {
  await setUp()
  const folder = await mkdtemp(join(tmpdir(), 'farthing-vitest-'))
  const file = join(folder, 'report.json')
  const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--config', config]
  // It ends with 1, because tests fail.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, vitest, {
    cwd: root,
    env: { ...process.env, REPORT: file },
  }).catch((error: { stdout: string; stderr: string }) => error)
  printed = stripVTControlCharacters(stdout + stderr)
  report = JSON.parse(await readFile(file, 'utf8'))
  await rm(folder, { recursive: true })
})

const named = (part: string): ReportedTest[] => report.tests.filter(({ name }) => name.includes(part))
const statesOf = (part: string): string[] => named(part).map(({ state }) => state)

test('two tests at once have a fork each of a service that is seeded once', () => {
  expect(statesOf('of which one waits')).toEqual(['passed', 'passed'])
  expect(statesOf('a code is returned once')).toEqual(['passed'])
  // The project counts the seeds in an afterAll, and finds every fork closed.
  expect(report.errors, printed).toEqual([])
})

test('MSW answers with the service of the running test, and refuses two at once', () => {
  expect(statesOf('MSW answers with the service of')).toEqual(['passed', 'passed'])
  const mixed = named('do not mix')
  expect(mixed.map(({ state }) => state).sort()).toEqual(['failed', 'passed'])
  expect(mixed.flatMap(({ errors }) => errors)).toEqual([expect.stringContaining('cannot share one MSW server')])
})

test('a test that fails gets its journal and the explanation of its last refusal, in the terminal too', () => {
  const [{ annotations = [] } = {}] = named('fails after a payment was refused')
  expect(annotations).toMatchObject([{ type: 'journal', attachment: { contentType: 'application/json' } }])
  const { requests, explanation } = JSON.parse(String(annotations[0]?.attachment?.body))
  expect(requests).toMatchObject([
    { operation_id: 'createAccountToken' },
    { operation_id: 'createPayment', status: 402 },
  ])
  expect(explanation).toMatchObject({ facts: { missing: 0.15 }, fix: { operation_id: 'fundTwin' } })

  const [, ...failures] = printed.split(' FAIL  ')
  const shown = failures.find((text) => text.includes('fails after a payment was refused'))
  expect(shown).toMatch(/POST \/v4\/payment\/\S+ 402 insufficient_funds, by user:2\n/)
  expect(shown).toContain('0.15 USD is missing.')
  expect(shown).toContain('To fix it, call sandbox.fund({')
})

test('a failure of a hook gets its journal too, and so does a test that closed its service', () => {
  expect(named('fails after it closed')).toMatchObject([
    { errors: [expect.stringContaining('closed')], annotations: [{ type: 'journal' }] },
  ])
  expect(named('fails in a hook')).toMatchObject([{ state: 'failed', annotations: [{ type: 'journal' }] }])
})

test('nothing is attached to a test that passes, or that sent no request', () => {
  const bare = report.tests.filter(({ annotations }) => annotations.length === 0).map(({ name }) => name)
  expect(bare).toEqual(expect.arrayContaining(['passes because it fails', 'fails without a request']))
  expect(report.tests.filter(({ state, annotations }) => state === 'passed' && annotations.length > 0)).toEqual([])
})

test('a wrong option is refused by its name, before any test runs', () => {
  const wrong = (options: object) => () => farthingTest(options)
  expect(wrong({ sede: {} })).toThrow('"sede" is not an option of createService. Did you mean "seed"?')
  expect(wrong({ seed: { users: [{ email: 7 }] } })).toThrow(/seed\.users\[0\]\.email/)
  expect(wrong({ journal: false })).toThrow('"journal" is not an option of farthingTest.')
  expect(wrong({ prepare: {} })).toThrow('prepare must be a function')
  expect(wrong({ msw: {} })).toThrow('msw must be')
})
