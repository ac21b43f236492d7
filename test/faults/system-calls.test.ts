import { spawn, spawnSync } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageOf } from '../../src/storage/unknown.js'
import { type Life, openShop, type Shop } from '../support/scenes/stored-shop.js'
import { expectOrdersOnce, isDone, newStoredShop } from '../support/scenes/stored-shop-checks.js'
import { bundleForNode } from '../support/storage/bundle.js'

/** The system calls that only the storage makes, and that change files. */
const CALLS = ['pwrite64', 'fdatasync', 'fsync', 'ftruncate', 'rename', 'link', 'unlink', 'mkdir']

/** What happens at a call, as strace knows it. */
const FAULTS = { ENOSPC: 'error=ENOSPC', EIO: 'error=EIO', kill: 'signal=SIGKILL' }

/** `npm run test:long` tries each call. Otherwise every so many, each fault at others. */
const STEP = Number(process.env.FARTHING_FAULTS ?? 30) < 600 ? 21 : 1

const canInject = spawnSync('strace', ['-qq', '-o', '/dev/null', '-e', 'inject=fsync:error=EIO', 'true']).status === 0

let directory = ''
let child = ''
let shop: Shop

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'farthing-'))
  child = join(directory, 'child.mjs')
  await bundleForNode(fileURLToPath(new URL('../support/faults/shop-child.ts', import.meta.url)), child)
  shop = await newStoredShop(join(directory, 'begin', 'data.json'))
})
afterAll(() => rm(directory, { recursive: true }))

/** Uses a copy of the shop in a process of its own, and returns all that its client knew at the end. */
async function live(copy: Shop, inject: string | undefined): Promise<{ life: Life; calls: string }> {
  const place = join(copy.file, '..')
  await cp(join(shop.file, '..'), place, { recursive: true })
  await writeFile(join(place, 'shop.json'), JSON.stringify(copy))
  const log = join(place, 'calls.txt')
  const options = [
    '-f',
    '-qq',
    '-o',
    log,
    '-e',
    `trace=${CALLS}`,
    ...(inject === undefined ? [] : ['-e', `inject=${inject}`]),
  ]
  const run = spawn('strace', [...options, process.execPath, child, join(place, 'shop.json')], {
    // Calls of one thread are counted together.
    env: { ...process.env, UV_THREADPOOL_SIZE: '1', NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  for await (const piece of run.stdout) said += piece
  const [last = '{"ordered":[],"failures":[]}'] = said.split('\n').slice(0, -1).slice(-1)
  return { life: JSON.parse(last), calls: log }
}

/** How often each call was made, by the thread that made it most often. */
async function countCalls(): Promise<Map<string, number>> {
  const { calls } = await live({ ...shop, file: join(directory, 'counted', 'data.json') }, undefined)
  const counts = new Map<string, number>()
  for (const [, thread, call] of (await readFile(calls, 'utf8')).matchAll(/^(\d+) +(\w+)\(/gm))
    counts.set(`${call} ${thread}`, (counts.get(`${call} ${thread}`) ?? 0) + 1)
  const most = new Map<string, number>()
  for (const [key, count] of counts) {
    const [call = ''] = key.split(' ')
    most.set(call, Math.max(count, most.get(call) ?? 0))
  }
  return most
}

test('a process whose system calls fail, or that dies at one, loses nothing that it answered, and does nothing twice', {
  timeout: 1_800_000,
}, async (context) => {
  if (!canInject) return context.skip('not run: strace is missing, or may not trace here.')
  const counts = await countCalls()
  const wrong: string[] = []
  let noticed = 0
  const tried: Record<string, number> = {}
  for (const [call, count] of counts)
    for (const [at, [name, fault]] of Object.entries(FAULTS).entries())
      for (let n = 1 + ((at * 7) % Math.min(count, STEP)); n <= count; n += STEP) {
        const copy = { ...shop, file: join(directory, 'tried', 'data.json') }
        const { life } = await live(copy, `${call}:${fault}:when=${n}`)
        tried[name] = (tried[name] ?? 0) + 1
        if (life.failures.length > 0 || !life.ordered.every(isDone)) noticed++
        try {
          const service = await openShop(copy.file)
          await expectOrdersOnce(service, copy, life.ordered)
          await service.close()
        } catch (error) {
          wrong.push(`${name} at ${call} ${n}: ${messageOf(error)}`)
        }
        await rm(join(directory, 'tried'), { recursive: true })
      }
  process.stdout.write(
    `system calls: ${JSON.stringify(Object.fromEntries(counts))}, tried: ${JSON.stringify(tried)}, noticed by a client: ${noticed}\n`,
  )
  expect(wrong).toEqual([])
  expect(Object.keys(tried)).toEqual(Object.keys(FAULTS))
  const all = Object.values(tried).reduce((sum, times) => sum + times, 0)
  expect(noticed).toBeGreaterThan(all / 3)
})
