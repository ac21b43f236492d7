import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noPages } from '../support/storage/bundle.js'
import type { MeasuredCall } from './measure.js'

/** Write it with FARTHING_WRITE_CALLS=1 after a change that is worth its calls, or that saves some. */
const RECORD = join(import.meta.dirname, 'calls.json')
const MARGIN = 1.05

type Measured = Readonly<Record<'payment' | 'twin' | 'settlement', MeasuredCall>>

let dir: string
let measured: Measured
let recorded: Measured

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'farthing-calls-'))
  measured = await measure(dir)
  if (process.env.FARTHING_WRITE_CALLS) await writeFile(RECORD, `${JSON.stringify(measured, inOrder, 2)}\n`)
  recorded = JSON.parse(await readFile(RECORD, 'utf8'))
})

afterAll(() => rm(dir, { recursive: true }))

const kinds = [
  ['one warm payment with an Idempotency-Key', 'payment'],
  ['one warm read of a twin', 'twin'],
  ['one warm settlement by x402 of what was verified before', 'settlement'],
] as const

describe.each(kinds)('%s', (_, kind) => {
  it('calls as many functions as recorded, or at most 5% more', () => {
    const [is, was] = [measured[kind], recorded[kind]]
    expect(is.calls, newIn(is, was)).toBeLessThanOrEqual(was.calls * MARGIN)
  })

  it('runs code of as many files as recorded, or at most 5% more', () => {
    const [is, was] = [measured[kind], recorded[kind]]
    expect(is.files, newIn(is, was)).toBeLessThanOrEqual(was.files * MARGIN)
  })

  it('calls the storage no more often than recorded', () => {
    expect(measured[kind].storageCalls).toBeGreaterThan(0)
    expect(measured[kind].storageCalls).toBeLessThanOrEqual(recorded[kind].storageCalls)
  })

  it('passes no more objects between a rule and the rows than recorded', () => {
    expect(measured[kind].objectsToRows).toBeGreaterThan(0)
    expect(measured[kind].objectsToRows).toBeLessThanOrEqual(recorded[kind].objectsToRows)
  })
})

/** Runs the sources in a process of its own, so that nothing else is counted. */
async function measure(folder: string): Promise<Measured> {
  await build({
    entryPoints: [join(import.meta.dirname, 'measure.ts')],
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    plugins: [noPages],
    logLevel: 'error',
  })
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'measure.mjs')], { maxBuffer: 1 << 24 })
  return JSON.parse(stdout)
}

/** The functions that came, and those that are called more often, the most calls first. */
function newIn({ functions: is }: MeasuredCall, { functions: was }: MeasuredCall): string {
  const more = Object.entries(is)
    .map(([name, calls]) => ({ name, calls, more: calls - (was[name] ?? 0), isNew: !(name in was) }))
    .filter((each) => each.more > 0)
    .sort((a, b) => b.more - a.more)
  return `These came:\n${more.map(({ name, more, isNew }) => `  +${more} ${isNew ? 'new: ' : ''}${name}`).join('\n')}`
}

/** Functions by their names, so that a change shows as few lines. */
const inOrder = (name: string, value: unknown): unknown =>
  name === 'functions'
    ? Object.fromEntries(Object.entries(value as object).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
