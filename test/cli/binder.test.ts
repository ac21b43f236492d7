import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readState } from '../../sandbox/state.js'
import { Progress, shownBytes, shownRows } from '../../sandbox/terminal.js'
import { caller } from '../support/api.js'
import { cli } from '../support/cli.js'
import { runHere } from '../support/run-here.js'
import { type BinderLine, binderCsv, binderHash } from '../support/scenes/binders.js'
import { newSeller, newTwin } from '../support/scenes/world.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const run = (args: readonly string[]) => runHere(args, farthing.directory)
const inDirectory = (name: string) => join(farthing.directory, name)

const lines = Array.from({ length: 700 }, (_, n): BinderLine => {
  const line = { at: Date.UTC(2024, 0, 31) - n, identity: binderHash('file', n), other: binderHash('twin', n % 5) }
  return n % 7 === 0 ? line : { ...line, dq: binderHash('dq', 1), amount: '0.5', action: n % 2 ? 'send' : 'receive' }
})

test('import --binder gives a twin of a data file its history, or names the wrong line and changes nothing', async () => {
  const sandbox = await startHere({ data: inDirectory('data.json') })
  const call = caller({ url: sandbox.url, fetch })
  const { token } = await newSeller(call)
  const [text, json] = [await newTwin(call, token), await newTwin(call, token)]
  await sandbox.close()
  await writeFile(inDirectory('binder.csv'), binderCsv(lines))
  await writeFile(inDirectory('wrong.csv'), binderCsv([...lines, 'yesterday,receive,,,,,']))
  const importing = (file: string, twin: string, ...more: string[]) =>
    run(['import', '--binder', file, '--twin', twin, '--data', 'data.json', ...more])

  const wrong = await importing('wrong.csv', text.hostname)
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toMatch(/^farthing: cannot import wrong\.csv: .*Line 702, timestamp: .*\n$/)
  const done = await importing('binder.csv', text.hostname)
  expect(done).toMatchObject({ code: 0, stderr: '' })
  expect(done.stdout).toContain(`Imported 700 rows into ${text.hostname}: 100 of them delegates, 5 new counterparts.`)
  expect(done.stdout).toContain(`${binderHash('dq', 1)}: balance 0.5, after an opening balance of`)
  const again = await importing('binder.csv', text.hostname)
  expect(again).toMatchObject({ code: 2, stderr: expect.stringContaining('It has a history already.') })
  const counted = await importing('binder.csv', json.hostname, '--json')
  expect(counted).toMatchObject({ code: 0, stderr: '' })
  expect(JSON.parse(counted.stdout)).toMatchObject({ hostname: json.hostname, rows: 700, delegates: 100, stand_ins: 0 })
  const { rows } = await readState(inDirectory('data.json'))
  expect(rows.imported_delegates).toHaveLength(200)

  const exported = await run(['export', 'state.json', '--data', 'data.json', '--json'])
  const restored = await run(['import', 'state.json', '--data', 'other.json', '--json'])
  const [written, read] = [JSON.parse(exported.stdout), JSON.parse(restored.stdout)]
  expect([written.rows, written.collections]).toEqual([read.rows, read.collections])
  expect(read).toMatchObject({ file: 'state.json', rows: expect.any(Number) })
})

test('import refuses what is neither a state nor a binder for a twin: exit 2', async () => {
  await writeFile(inDirectory('binder.csv'), binderCsv([]))
  const usage = 'import needs the file of a state, or --binder FILE together with --twin HOSTNAME'
  for (const [args, message] of [
    [[], usage],
    [['--binder', 'binder.csv'], usage],
    [['--twin', 'a.twin.localhost'], usage],
    [['state.json', '--binder', 'binder.csv', '--twin', 'a.twin.localhost'], usage],
    [['--binder', 'none.csv', '--twin', 'a.twin.localhost'], 'cannot read none.csv: no such file or directory'],
    [['--binder', 'binder.csv', '--twin', 'a.twin.localhost', '--data', 'none.json'], 'no data file at none.json'],
  ] as const) {
    const { code, stderr } = await run(['import', ...args])
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
  }
})

test('progress is one line of a terminal, drawn now and then, and nothing anywhere else', () => {
  let at = 0
  let written = ''
  const stream = { columns: 60, write: (text: string) => (written += text) }
  const now = () => at
  for (const options of [{ stream }, { stream: { ...stream, isTTY: true }, json: true }]) {
    const silent = new Progress({ ...options, now })
    at += 1000
    silent.show('Checking', { share: 0.5, count: shownRows(500) })
    silent.end()
  }
  expect(written).toBe('')
  const progress = new Progress({ stream: { ...stream, isTTY: true }, now })
  progress.show('Checking', { share: 0.1, count: shownRows(100) })
  expect(written).toBe('')
  at += 100
  progress.show('Checking', { share: 0.5, count: shownRows(50_000) })
  expect(written).toBe(`\r\x1b[KChecking ${'█'.repeat(12)}${'░'.repeat(12)}  50% 50,000 rows`)
  written = ''
  progress.show('Checking', { share: 0.6, count: shownRows(60_000) })
  expect(written).toBe('')
  at += 100
  progress.show('Writing', { count: shownBytes(12_345_678) })
  progress.end()
  progress.end()
  expect(written).toBe('\r\x1b[KWriting 12.3 MB\r\x1b[K')
})
