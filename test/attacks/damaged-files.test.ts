import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listLine, objectLine } from '../../adapters/storage/file/line.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { Refusal } from '../../sandbox/refusal.js'
import { openData } from '../../sandbox/state.js'
import { createService } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'
import { runHere } from '../support/run-here.js'

/** Files of others, and files that something damaged: each command says so in one line, and overwrites nothing. */

let sound: string
let exported: string
let folder: string
let cases = 0

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'farthing-'))
  exported = await readFile(new URL('../states/v1.json', import.meta.url), 'utf8')
  const storage = await fileStorage({ file: join(folder, 'sound.json') })
  const { counters, rows } = JSON.parse(exported)
  await storage.import({ counters, rows } as State)
  await storage.close()
  sound = await readFile(join(folder, 'sound.json'), 'utf8')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** What a line of a data file holds. */
type Content = Record<string, unknown> | unknown[]

function contentOf(line: string): Content {
  const content = JSON.parse(line)
  if (Array.isArray(content)) return content.slice(1)
  const { checksum: _, ...object } = content
  return object
}

const lineOf = (content: Content): string =>
  Array.isArray(content) ? listLine(JSON.stringify(content)) : objectLine(content)

/** The data file with changed lines, whose checksums are right. */
function rewritten(change: (lines: Content[]) => void): string {
  const lines = sound.trimEnd().split('\n').map(contentOf)
  change(lines)
  return lines.map(lineOf).join('')
}

const head = (lines: Content[]) => lines[0] as Record<string, unknown>
const sectionOf = (lines: Content[], name: string) =>
  lines.findIndex((line) => !Array.isArray(line) && line.collection === name)

const damages: Record<string, () => string> = {
  'a repeated id': () =>
    rewritten((lines) => {
      const at = sectionOf(lines, 'accounts')
      Object.assign(lines[at] ?? {}, { rows: Number((lines[at] as { rows: number }).rows) + 1 })
      lines.splice(at + 1, 0, structuredClone(lines[at + 1] ?? []))
      const end = lines.at(-1) as { rows: number }
      end.rows++
    }),
  'a counter at the last safe number': () =>
    rewritten((lines) => Object.assign(head(lines).counters as object, { movements: Number.MAX_SAFE_INTEGER })),
  'a newer schema': () => rewritten((lines) => Object.assign(head(lines), { schema: 900 })),
  'no head': () => rewritten((lines) => lines.shift()),
  'no end': () => rewritten((lines) => lines.pop()),
  'a collection twice': () => rewritten((lines) => lines.splice(-1, 0, structuredClone(lines[1] ?? {}))),
  'an unknown collection': () => rewritten((lines) => lines.splice(-1, 0, { collection: 'gold', rows: 0, fields: [] })),
  'a row of null': () => rewritten((lines) => lines.splice(sectionOf(lines, 'accounts') + 1, 1, [null])),
  'rows of an older schema that are no objects of it': () =>
    rewritten((lines) => {
      Object.assign(head(lines), { schema: 1 })
      for (const line of lines) if (Array.isArray(line)) line.fill(7, 1)
    }),
  'nothing in it': () => '',
  'zeros in it': () => '\0'.repeat(5000),
  'another JSON in it': () => '[1,2,3]',
  'another text in it': () => 'hello\nworld\n',
  'half of it': () => sound.slice(0, sound.length / 2),
  'an exported state with a repeated id': () => {
    const state = JSON.parse(exported)
    state.rows.accounts.push(state.rows.accounts[0])
    return JSON.stringify(state)
  },
  'an exported state of null rows': () => {
    const state = JSON.parse(exported)
    for (const name of Object.keys(state.rows)) state.rows[name] = [null]
    return JSON.stringify(state)
  },
  'an exported state that nests without end': () =>
    `{"counters":{},"rows":{"accounts":[${'['.repeat(1e5)}${']'.repeat(1e5)}]}}`,
}

for (let seed = 1; seed <= 12; seed++)
  damages[`random damage ${seed}`] = () => {
    const random = seeded(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    return rewritten((lines) => {
      for (let n = 0; n < 3; n++) {
        const line = pick(lines)
        const hostile = pick<unknown>([null, -1, 0.5, 1e300, '', 'x', {}, [], true, 2 ** 53])
        if (Array.isArray(line)) line[Math.floor(random() * line.length)] = hostile
        else line[pick(Object.keys(line))] = hostile
      }
    })
  }

/** The files of a folder, but for locks. */
async function filesIn(place: string): Promise<Record<string, string>> {
  const names = (await readdir(place)).filter((name) => !name.endsWith('.lock'))
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(place, name), 'latin1')] as const)),
  )
}

const expectClear = ({ code, stdout, stderr }: Awaited<ReturnType<typeof runHere>>, what: string) => {
  expect([0, 1, 2], what).toContain(code)
  expect(stderr, what).toMatch(code === 0 ? /^$/ : /^(farthing: [^\n]+\n)?$/)
  expect(`${stdout}${stderr}`, what).not.toMatch(/^\s+at /m)
  expect(code === 0 || stderr !== '' || stdout !== '', what).toBe(true)
}

test.each(Object.entries(damages))(
  'a file with %s is refused or read in one line by each command',
  async (_, damage) => {
    const place = join(folder, `case-${cases++}`)
    await mkdir(place)
    const [file, other] = [join(place, 'data.json'), join(place, 'other.json')]
    await writeFile(file, damage())
    await writeFile(other, sound)
    const before = await filesIn(place)
    for (const args of [
      ['verify', file],
      ['migrate', '--check', file],
      ['repair', file, join(folder, `repaired-${cases}`)],
    ]) {
      expectClear(await runHere(args), args.join(' '))
      expect(await filesIn(place), args.join(' ')).toEqual(before)
    }
    const imported = await runHere(['import', file, '--data', other])
    expectClear(imported, 'import')
    if (imported.code !== 0) expect(await filesIn(place)).toEqual(before)
    const again = await filesIn(place)
    const target = join(folder, `exported-${cases}.json`)
    const written = await runHere(['export', target, '--data', file])
    expectClear(written, 'export')
    if (written.code !== 0) expect(await filesIn(place)).toEqual(again)
    const opened = await openData(file).catch((error: unknown) => error as Error)
    if (opened instanceof Error) {
      expect(opened).toBeInstanceOf(Refusal)
      if (written.code !== 0) expect(await filesIn(place)).toEqual(again)
      return
    }
    const service = createService({ storage: opened, sandbox: true })
    await service.ready().catch((error: unknown) => expect(String(error)).not.toContain('\n'))
    await service.close()
  },
)

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function seeded(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
