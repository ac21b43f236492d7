import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { caller } from '../support/api.js'
import { cli, type Sandbox } from '../support/cli.js'
import { runHere } from '../support/run-here.js'
import { newCommodity, newPayer, newSeller } from '../support/scenes/world.js'
import { startHere } from '../support/start-here.js'

const farthing = cli()
const { start } = farthing
const run = (args: readonly string[]) => runHere(args, farthing.directory)

const calling = ({ url }: Pick<Sandbox, 'url'>) => caller({ url, fetch, close: async () => {} })
const inDirectory = (...names: string[]) => join(farthing.directory, ...names)

/** The files of the test by name, without locks. */
async function files(): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(farthing.directory, { withFileTypes: true }))
    if (entry.isFile() && !entry.name.endsWith('.lock'))
      found[entry.name] = await readFile(inDirectory(entry.name), 'latin1')
  return found
}

/** A sandbox in which someone has paid. */
async function startPaid(): Promise<{ sandbox: Sandbox; pay: () => Promise<number> }> {
  const sandbox = await start(['--data', 'data.json'])
  const call = calling(sandbox)
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const payer = await newPayer(call, seller, { balance: 50 })
  const pay = async () => (await call('POST', `/v4/payment/${hash}`, { token: payer.token, body: {} })).status
  for (let n = 0; n < 3; n++) expect(await pay()).toBe(202)
  return { sandbox, pay }
}

let kept: Promise<string> | undefined
afterAll(async () => kept && rm(await kept, { recursive: true }))

/** The files that such a sandbox left, in the test's directory. They are made once. */
async function left(how: 'killed' | 'stopped'): Promise<void> {
  kept ??= keepFiles()
  await cp(join(await kept, how), farthing.directory, { recursive: true })
}

async function keepFiles(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'farthing-left-'))
  const { sandbox } = await startPaid()
  await sandbox.stop('SIGKILL')
  await cp(farthing.directory, join(folder, 'killed'), { recursive: true })
  await (await startHere({ data: inDirectory('data.json') })).close()
  await cp(farthing.directory, join(folder, 'stopped'), { recursive: true })
  for (const name of await readdir(farthing.directory)) await rm(inDirectory(name), { recursive: true })
  return folder
}

async function ledgerOf(data: string): Promise<{ ok: boolean; movements: number }> {
  const sandbox = await startHere({ data: inDirectory(data) })
  const { ok, movements } = await sandbox.service.sandbox.ledger()
  await sandbox.close()
  return { ok, movements }
}

const changeLine = async (file: string, change: (line: string) => string | undefined) => {
  const lines = (await readFile(file, 'utf8')).split('\n')
  await writeFile(file, lines.map((line) => change(line) ?? line).join('\n'))
}

describe('verify', () => {
  test('finds nothing wrong with what a sandbox left, stopped or killed, and changes nothing', async () => {
    await left('killed')
    const killed = await files()
    const found = await run(['verify', 'data.json'])
    expect(found).toMatchObject({ code: 0, stderr: '' })
    expect(found.stdout).toMatch(
      /data\.json: \d+ rows in \d+ collections, up to commit \d+\. Every line is whole, and the ledger is correct\.\n$/,
    )
    expect(await files()).toEqual(killed)
    await left('stopped')
    expect(await run(['verify', 'data.json'])).toMatchObject({ code: 0, stderr: '' })
  })

  test('names every damaged line of every file, and changes nothing', async () => {
    await left('stopped')
    await changeLine(inDirectory('data.json'), (line) =>
      line.includes('VEGEMITE') || line.includes('NEWS.ARTICLE') ? line.replace('NEWS', 'NEVS') : undefined,
    )
    await changeLine(inDirectory('data.json.key'), (line) => line.replace('"commit"', '"commut"'))
    const before = await files()
    const { code, stdout } = await run(['verify', 'data.json'])
    expect(code).toBe(2)
    expect(stdout).toMatch(
      /data\.json, line \d+: the line is damaged, which holds a row of commodities, perhaps "[-0-9a-f]+"\n/,
    )
    expect(stdout).toMatch(/data\.json\.key: this is not a key file/)
    expect(stdout).toContain('farthing repair')
    expect(await files()).toEqual(before)
    const missing = await run(['verify', 'nothing.json'])
    expect(missing).toMatchObject({ code: 2, stdout: '', stderr: 'farthing: no data file at nothing.json\n' })
  })

  test('finds rows that do not fit together, and rules of the ledger that do not hold', async () => {
    await left('stopped')
    expect((await run(['export', 'state.json', '--data', 'data.json'])).code).toBe(0)
    const state = JSON.parse(await readFile(inDirectory('state.json'), 'utf8'))
    state.rows.entries.pop()
    state.rows.commodities[0].twin_id = 999
    await writeFile(inDirectory('other.json'), JSON.stringify(state))
    const { code, stdout } = await run(['verify', 'other.json'])
    expect(code).toBe(2)
    expect(stdout).toMatch(/Row .* of commodities: its twin_id is 999, which is not in twins\./)
    expect(stdout).toMatch(/the rule ".*" is broken/)
  })
})

describe('repair', () => {
  test('loses nothing of a damaged data file if the one before it and its journal are there', async () => {
    await left('stopped')
    const expected = (await run(['verify', 'data.json'])).stdout.match(/\d+ rows/)?.[0]
    const text = await readFile(inDirectory('data.json'), 'utf8')
    await writeFile(inDirectory('data.json'), text.slice(0, text.length / 3))
    const before = await files()
    const { code, stdout } = await run(['repair', 'data.json', 'saved.json'])
    expect(stdout).toContain('Nothing is lost.')
    expect(stdout).toContain(`saved.json: ${expected}`)
    expect(code).toBe(0)
    expect(await files()).toMatchObject(before)
    expect(await ledgerOf('saved.json')).toMatchObject({ ok: true })
  })

  test('writes all that can be read, and names what is lost and what no longer holds', async () => {
    await left('stopped')
    for (const name of await readdir(farthing.directory)) if (/previous|journal/.test(name)) await rm(inDirectory(name))
    let isFirst = true
    await changeLine(inDirectory('data.json'), (line) => {
      if (!line.includes('NEWS.ARTICLE') && !(line.startsWith('["') && isFirst)) return undefined
      isFirst = false
      return `${line.slice(0, 20)}#${line.slice(21)}`
    })
    const { code, stdout } = await run(['repair', 'data.json', 'saved.json'])
    expect(stdout).toMatch(
      /Could not read:\n.*data\.json, line \d+: the line is damaged, which holds a row of accounts/,
    )
    expect(stdout).toMatch(/line \d+: the line is damaged, which holds a row of commodities/)
    expect(stdout).toMatch(/which is not in accounts\./)
    expect(code).toBe(2)
    expect((await stat(inDirectory('saved.json'))).size).toBeGreaterThan(3000)
  })

  test('goes on after a part of the journal that is missing or damaged', async () => {
    await left('killed')
    const part = (await readdir(farthing.directory)).find((name) => name.includes('.journal.')) ?? ''
    const lines = (await readFile(inDirectory(part), 'utf8')).split('\n')
    lines[4] = `${lines[4]?.slice(0, 30)}?${lines[4]?.slice(31)}`
    await writeFile(inDirectory(part), lines.join('\n'))
    expect((await run(['verify', 'data.json'])).stdout).toMatch(/journal\.\d+\.\w+, line 5: the line is damaged/)
    const { stdout } = await run(['repair', 'data.json', 'saved.json'])
    expect(stdout).toMatch(/Could not read:\n.*line 5: the line is damaged\n/)
    expect(stdout).toMatch(/saved\.json: \d+ rows/)
    await rm(inDirectory(part))
    expect((await run(['repair', 'data.json', 'less.json'])).stdout).toMatch(/this part of the journal is missing/)
  })

  test('writes over nothing', async () => {
    await left('stopped')
    const before = await files()
    for (const args of [
      ['repair', 'data.json', 'data.json'],
      ['backup', 'data.json', 'data.json'],
      ['repair', 'data.json', 'data.json.previous'],
    ]) {
      const { code, stderr } = await run(args)
      expect(code).toBe(2)
      expect(stderr).toMatch(/^farthing: .* exists: name a file that does not\n$/)
    }
    expect(await files()).toEqual(before)
  })
})

describe('backup', () => {
  test('of a sandbox that goes on holds every payment that was confirmed, and its key', async () => {
    const { sandbox, pay } = await startPaid()
    let confirmed = 3
    let isPaying = true
    const paying = Array.from({ length: 4 }, async () => {
      while (isPaying) if ((await pay()) === 202) confirmed++
    })
    const counts: number[] = []
    await mkdir(inDirectory('copies'))
    for (const n of [0, 1, 2]) {
      counts.push(confirmed)
      const { code, stdout, stderr } = await run(['backup', 'data.json', `copies/${n}.json`])
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/^Wrote \d+ rows, up to commit \d+, to .*\.json\.\n$/)
    }
    isPaying = false
    await Promise.all(paying)
    await sandbox.stop()
    expect((await readdir(inDirectory('copies'))).sort()).toEqual(
      ['0', '1', '2'].flatMap((n) => [`${n}.json`, `${n}.json.key`]),
    )
    for (const [n, count] of counts.entries()) {
      expect((await run(['verify', `copies/${n}.json`])).code).toBe(0)
      // Restored: it is opened where nothing else of the sandbox is.
      const { ok, movements } = await ledgerOf(`copies/${n}.json`)
      expect(ok).toBe(true)
      expect(movements).toBeGreaterThanOrEqual(count)
    }
  })
})
