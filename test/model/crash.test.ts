import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { ShownPayment } from '../../src/payments/payments/payment.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { cli, type Sandbox } from '../support/cli.js'
import { howMuch } from '../support/how-much.js'
import { balanceOf, tokenFor } from '../support/scenes/world.js'

/** How often the process is killed; `npm run test:all` takes longer over it. */
const ROUNDS = howMuch(2, 100)
const PAYERS = 4
const COST = 0.25
const HASH = '00000000-0000-4000-8000-00000000c4a5'
const START_BALANCE = 1_000_000

const farthing = cli()
const inDirectory = (file: string) => join(farthing.directory, file)
const calling = ({ url }: Pick<Sandbox, 'url'>) => caller({ url, fetch, close: async () => {} })

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A payment that was acknowledged, and whether its nonce was spent: `asked` where the answer was lost. */
interface Acknowledged extends ShownPayment {
  readonly nonce: string
  readonly timestamp: number
  validation: 'none' | 'asked' | 'acknowledged'
}

interface Payer {
  readonly token: string
  readonly hostname: string
  /** Of the last round. */
  acknowledged: Acknowledged[]
  /** Every payment ever seen in their list. */
  listed: number
  newest: number
}

interface World {
  readonly sellerToken: string
  readonly sellerHostname: string
  readonly payers: readonly Payer[]
  acknowledged: number
}

async function begin(): Promise<World> {
  const user = (n: number) => ({
    email: `payer-${n}@example.test`,
    hostname: `payer-${n}.test`,
    balance: START_BALANCE,
  })
  const seed = {
    accounts: [{ name: 'Seller', hostname: 'seller.test' }],
    users: Array.from({ length: PAYERS }, (_, n) => user(n)),
    commodities: [{ account: 'Seller', descriptor: 'CRASH.TEST', cost: COST, hash: HASH }],
  }
  await writeFile(inDirectory('seed.json'), JSON.stringify(seed))
  const sandbox = await start()
  const call = calling(sandbox)
  const token = (client: { client_id: string; client_secret: string } | undefined) =>
    tokenFor(call, client?.client_id ?? '', client?.client_secret ?? '')
  const payers = []
  for (const [n, credentials] of sandbox.users.entries())
    payers.push({ token: await token(credentials), hostname: user(n).hostname, acknowledged: [], listed: 0, newest: 0 })
  const world = {
    sellerToken: await token(sandbox.accounts[0]),
    sellerHostname: 'seller.test',
    payers,
    acknowledged: 0,
  }
  await sandbox.stop('SIGKILL')
  return world
}

const start = () => farthing.start(['--seed', 'seed.json'])

/** Pays and validates from all sides until the process is killed. */
async function crashUnderLoad(sandbox: Sandbox, world: World, random: () => number): Promise<void> {
  const call = calling(sandbox)
  let killed = false
  const unlessKilled = async (work: () => Promise<void>) => {
    try {
      while (!killed) await work()
    } catch (error) {
      if (!killed) throw error
    }
  }
  const load = Promise.all(world.payers.map((payer) => unlessKilled(() => payOnce(call, payer, world, random() < 0.5))))
  // It is awaited once the process is dead.
  load.catch(() => {})
  // A busy machine may need longer than any pause for its first payment.
  const before = world.acknowledged
  while (world.acknowledged === before) await Promise.race([sleep(1), load])
  await sleep(random() * 120)
  killed = true
  if (random() < 0.3) {
    // While it closes it writes all that it has into the data file.
    sandbox.child.kill('SIGTERM')
    await sleep(random() * 40)
  }
  await sandbox.stop('SIGKILL')
  await load
}

async function payOnce(call: Call, payer: Payer, world: World, validates: boolean): Promise<void> {
  const { status, body } = await call('POST', `/v4/payment/${HASH}`, { token: payer.token })
  expect(status).toBe(202)
  const payment: Acknowledged = { ...body, validation: 'none' }
  payer.acknowledged.push(payment)
  world.acknowledged++
  if (!validates) return
  payment.validation = 'asked'
  expect((await validate(call, world, payment)).status).toBe(200)
  payment.validation = 'acknowledged'
}

const validate = (call: Call, { sellerToken: token }: World, { nonce, timestamp }: Acknowledged): Promise<Answer> =>
  call('POST', `/v4/payment/${HASH}/validate`, { token, body: { nonce, timestamp } })

/** Holds what is there after a crash against what was acknowledged before it. */
async function check(sandbox: Sandbox, world: World): Promise<void> {
  const call = calling(sandbox)
  expect((await call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true, broken: null })
  await Promise.all(world.payers.map((payer) => checkPayer(call, world, payer)))
  const sold = world.payers.reduce((sum, { listed }) => sum + listed, 0)
  expect(await balanceOf(call, world.sellerToken, world.sellerHostname)).toBe(sold * COST)
}

async function checkPayer(call: Call, world: World, payer: Payer): Promise<void> {
  const { token, hostname, newest } = payer
  const fresh = await paymentsSince(call, token, newest)
  payer.listed += fresh.length
  payer.newest = fresh[0]?.id ?? newest
  // No payment without its movement, no movement without its payment.
  expect(await balanceOf(call, token, hostname)).toBe(START_BALANCE - payer.listed * COST)
  for (const { nonce, timestamp, validation, ...payment } of payer.acknowledged) {
    expect(fresh).toContainEqual(payment)
    await checkNonce(call, world, { ...payment, nonce, timestamp, validation })
  }
  payer.acknowledged = []
}

/** Spent is spent, and what is not can be spent once. */
async function checkNonce(call: Call, world: World, payment: Acknowledged): Promise<void> {
  const { status, body } = await validate(call, world, payment)
  if (payment.validation === 'none') expect(status).toBe(200)
  else if (payment.validation === 'acknowledged') expect(body.code).toBe('nonce_used')
  else expect(status === 200 || body.code === 'nonce_used').toBe(true)
  expect((await validate(call, world, payment)).body.code).toBe('nonce_used')
}

/** A payer's payments that are newer than one, newest first. */
async function paymentsSince(call: Call, token: string, id: number): Promise<ShownPayment[]> {
  const found: ShownPayment[] = []
  for (let next: number | null = null; ; ) {
    const after: string = next === null ? '' : `&after=${next}`
    const { body }: Answer = await call('GET', `/v4/payments?limit=100${after}`, { token })
    const payments = body.payments as ShownPayment[]
    found.push(...payments.filter((payment) => payment.id > id))
    next = body.next
    if (next === null || (payments.at(-1)?.id ?? 0) <= id) return found
  }
}

/** Ends a sandbox while it starts, at any moment. */
async function crashAtStart(random: () => number): Promise<void> {
  const starting = farthing.spawn(['--port', '0', '--seed', 'seed.json'])
  await sleep(random() * 200)
  starting.child.kill('SIGKILL')
  await starting.ended
}

test(`after a kill at ${ROUNDS} random moments under load, every acknowledged payment is there, and none is there in part`, async () => {
  const seed = Number(process.env.CRASH_SEED ?? Math.floor(Math.random() * 2 ** 32))
  const random = randomFrom(seed)
  const world = await begin()
  for (let round = 0; round <= ROUNDS; round++)
    try {
      if (random() < 0.2) await crashAtStart(random)
      const sandbox = await start()
      await check(sandbox, world)
      if (round < ROUNDS) await crashUnderLoad(sandbox, world, random)
      else await checkAtLast(sandbox, world)
    } catch (cause) {
      throw new Error(`round ${round} of CRASH_SEED=${seed}: ${(cause as Error).message}`, { cause })
    }
}, 300_000)

/** What was seen after each crash is still there after all of them. */
async function checkAtLast(sandbox: Sandbox, world: World): Promise<void> {
  const call = calling(sandbox)
  const all = await Promise.all(world.payers.map(({ token }) => paymentsSince(call, token, 0)))
  expect(all.map(({ length }) => length)).toEqual(world.payers.map(({ listed }) => listed))
  expect(all.flat().length).toBeGreaterThanOrEqual(world.acknowledged)
  expect(world.acknowledged).toBeGreaterThan(ROUNDS)
  const { body } = await call('GET', '/_sandbox/ledger')
  expect(body.movements).toBe(all.flat().length + PAYERS)
}

test('a start drops the torn last line of a journal, and refuses an earlier damaged line by its number', async () => {
  const world = await begin()
  const folder = inDirectory('.farthing')
  const [part = ''] = (await readdir(folder)).filter((name) => name.includes('.journal.'))
  const journal = join(folder, part)
  const whole = await readFile(journal, 'utf8')
  const lines = whole.split('\n')
  await appendFile(journal, (lines.at(-2) as string).slice(0, 40))
  const sandbox = await start()
  await check(sandbox, world)
  await sandbox.stop('SIGKILL')
  expect((await readFile(journal, 'utf8')).startsWith(whole)).toBe(true)

  expect(lines.length).toBeGreaterThan(4)
  const damaged = lines.with(2, (lines[2] as string).replace('"rows"', '"row5"')).join('\n')
  await writeFile(journal, damaged)
  const data = await readFile(inDirectory('.farthing/data.json'), 'utf8')
  const { code, stdout, stderr } = await farthing.run(['--port', '0', '--seed', 'seed.json'])
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^farthing: .*data\.json\.journal\.[0-9a-f.]+, line 3: [^\n]+\n$/)
  expect(await readFile(journal, 'utf8')).toBe(damaged)
  expect(await readFile(inDirectory('.farthing/data.json'), 'utf8')).toBe(data)
})
