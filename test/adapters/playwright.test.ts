import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify, stripVTControlCharacters } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { howMuch, isWhole } from '../support/how-much.js'

/** One run of Playwright in the project of someone who uses `farthing/playwright`, with the browser of these tests. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const config = join(root, 'test/support/playwright-project/playwright.config.mjs')

interface Result {
  readonly status: string
  readonly workerIndex: number
  readonly attachments: readonly { readonly name: string; readonly body?: string }[]
}

let printed = ''
let results = new Map<string, Result>()

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-playwright-'))
  const endpoint = await (await fetch(`${inject('browserHost')}/endpoint`)).text()
  const env = {
    ...process.env,
    WS_ENDPOINT: endpoint,
    REPORT: join(folder, 'report.json'),
    OUTPUT: join(folder, 'out'),
    // Nothing that it loads is TypeScript.
    PW_DISABLE_TS_ESM: '1',
  }
  const playwright = [join(root, 'node_modules/@playwright/test/cli.js'), 'test', '--config', config]
  // It ends with 1, because a test fails.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, playwright, { cwd: root, env }).catch(
    (error: { stdout: string; stderr: string }) => error,
  )
  printed = stripVTControlCharacters(stdout + stderr)
  const { suites } = JSON.parse(await readFile(env.REPORT, 'utf8'))
  results = new Map(suites[0].specs.map(({ title, tests }: Spec) => [title, tests[0]?.results[0]]))
  await rm(folder, { recursive: true })
})

interface Spec {
  readonly title: string
  readonly tests: readonly { readonly results: readonly Result[] }[]
}

const resultOf = (part: string): Result | undefined => [...results].find(([title]) => title.includes(part))?.[1]

test('each test has a fork at the same address, in which a page of another origin frames the service', () => {
  expect(resultOf('a reader signs in and pays')?.status, printed).toBe('passed')
  expect(resultOf('the next reader has what the seed says')?.status, printed).toBe('passed')
})

test('a test that fails has its journal and the explanation of its last refusal in the report, and in the terminal', () => {
  const { status, attachments = [] } = resultOf('fails after a payment was refused') ?? {}
  expect(status).toBe('failed')
  const textOf = (name: string) => atob(attachments.find((each) => each.name === name)?.body ?? '')
  expect(textOf('explanation')).toContain('To fix it, call sandbox.fund({')
  expect(textOf('journal')).toMatch(/POST \/v4\/payment\/\S+ 402 insufficient_funds, by user:2$/)
  expect(JSON.parse(textOf('journal.json'))).toMatchObject({
    requests: [{ operation_id: 'createAccountToken' }, { operation_id: 'createPayment', status: 402 }],
    explanation: { facts: { missing: 0.15 } },
  })
  expect(printed).toContain('0.15 USD is missing.')
})

test('nothing is attached to a test that passes', () => {
  const passed = [...results.values()].filter(({ status }) => status === 'passed')
  expect(passed.map(({ attachments }) => attachments)).toEqual(Array.from({ length: howMuch(3, 4) }, () => []))
})

if (isWhole)
  test('the worker after a failure begins with the seed', () => {
    expect(resultOf('begins anew')?.status).toBe('passed')
  })

test('a rehearsal gives each run a fork at the same address', () => {
  expect(resultOf('rehearses what calls')?.status, printed).toBe('passed')
})
