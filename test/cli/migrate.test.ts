import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { SCHEMA } from '../../src/core.js'
import { migrations } from '../../src/migrations/steps.js'
import { cli } from '../support/cli.js'
import { runHere } from '../support/run-here.js'

const sandbox = cli()
const run = (args: readonly string[]) => runHere(args, sandbox.directory)
const inDirectory = (name: string) => join(sandbox.directory, name)
const older = fileURLToPath(new URL('../states/v1.json', import.meta.url))

/** What a directory holds, with the bytes of each file. */
const contents = async (directory: string) =>
  Promise.all(
    (await readdir(directory)).sort().map(async (name) => [name, await readFile(join(directory, name), 'utf8')]),
  )

describe('farthing migrate --check', () => {
  test('says what opening an older data file changes, and changes nothing', async () => {
    await copyFile(older, inDirectory('data.json'))
    const before = await contents(inDirectory('.'))
    const { code, stdout } = await run(['migrate', '--check', 'data.json'])
    expect(code).toBe(0)
    const [first, copy, ...lines] = stdout.trim().split('\n')
    expect(first).toBe(`data.json has schema 1. This farthing writes schema ${SCHEMA}.`)
    expect(copy).toBe('To open it as a data file saves a copy first, data.json.v1. These migrations run:')
    expect(lines.pop()).toBe('It would open: its rows are consistent, and its ledger is correct.')
    expect(lines).toEqual(migrations.map(({ to, what }) => `- schema ${to}: ${what}`))
    expect(await contents(inDirectory('.'))).toEqual(before)
  })

  test('says it of an exported state too, which no migration changes once it is current', async () => {
    await copyFile(older, inDirectory('data.json'))
    expect((await run(['export', 'state.json', '--data', 'data.json'])).code).toBe(0)
    expect(await readdir(inDirectory('.'))).toContain('data.json.v1')
    for (const file of ['state.json', 'data.json']) {
      const { code, stdout } = await run(['migrate', '--check', file])
      expect({ code, lines: stdout.trim().split('\n') }).toEqual({
        code: 0,
        lines: [
          `${file} has schema ${SCHEMA}. This farthing writes schema ${SCHEMA}.`,
          'It would open: its rows are consistent, and its ledger is correct.',
        ],
      })
    }
  })

  test('refuses what farthing would not open, with the reason on one line', async () => {
    const state = { counters: {}, rows: {} }
    const wrong: [string, string, RegExp][] = [
      [
        'newer.json',
        JSON.stringify({ ...state, schema: 900 }),
        new RegExp(`schema 900, this one knows up to ${SCHEMA}`),
      ],
      ['twice.json', JSON.stringify({ ...state, rows: { users: [{ id: 1 }, { id: 1 }] } }), /another row has this id/],
      ['notes.txt', 'precious notes', /notes\.txt/],
    ]
    for (const [name, text, why] of wrong) {
      await writeFile(inDirectory(name), text)
      const { code, stdout, stderr } = await run(['migrate', '--check', name])
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toMatch(why)
      expect(stderr.trim().split('\n')).toHaveLength(1)
      expect(await readFile(inDirectory(name), 'utf8')).toBe(text)
    }
    expect((await run(['migrate', '--check', 'missing.json'])).stderr).toMatch(
      /cannot read missing\.json: no such file/,
    )
    expect((await run(['migrate', 'notes.txt'])).code).toBe(2)
  })
})

test('start refuses a data file of a newer farthing by its number, and leaves it as it is', async () => {
  const text = JSON.stringify({ schema: 900, counters: {}, rows: {} })
  await writeFile(inDirectory('data.json'), text)
  const { code, stderr } = await sandbox.run(['--port', '0', '--data', 'data.json'])
  expect(code).toBe(2)
  expect(stderr).toMatch(/data\.json was written by a newer farthing: schema 900, .* Update farthing to open it\.\n$/)
  expect(await readFile(inDirectory('data.json'), 'utf8')).toBe(text)
})
