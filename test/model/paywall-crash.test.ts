import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Call, caller } from '../support/api.js'
import { cli, type Sandbox } from '../support/cli.js'
import { howMuch } from '../support/how-much.js'
import { paywall } from '../support/scenes/paywall.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { tokenFor } from '../support/scenes/world.js'

const farthing = cli()
const calling = ({ url }: Pick<Sandbox, 'url'>): Call => caller({ url, fetch, close: async () => {} })

const upstream = useUpstream()

const seed = {
  accounts: [{ name: 'Seller', hostname: 'seller.test' }],
  users: [{ email: 'payer@example.test', hostname: 'payer.test', balance: 10 }],
}

async function start() {
  await writeFile(join(farthing.directory, 'seed.json'), JSON.stringify(seed))
  const sandbox = await farthing.start(['--seed', 'seed.json'])
  const call = calling(sandbox)
  const [payer] = sandbox.users
  return { sandbox, call, token: await tokenFor(call, payer?.client_id ?? '', payer?.client_secret ?? '') }
}

/** What of the payer's 10 is left, and what is held. */
async function money(call: Call, token: string): Promise<{ left: unknown; held: number }> {
  const audit = (await call('GET', '/_sandbox/ledger')).body
  expect(audit.broken).toBeNull()
  const { balances } = (await call('GET', '/v4/twin/payer.test', { token })).body
  return { left: Object.values(balances)[0], held: audit.digital_quantities[0].held }
}

test('a process killed between hold and post holds nothing after its restart, and does not repeat the call with that key', async () => {
  const first = await start()
  upstream.requests.length = 0
  const keyed = (token: string) => ({ token, headers: { 'idempotency-key': 'once' } })
  const order = { amount: 4, destination: 'seller.test', serviceUrl: `${upstream.url}/hang` }
  const lost = paywall(first.call, keyed(first.token), order)
  lost.catch(() => {})
  await expect.poll(() => upstream.requests.length).toBe(1)
  expect(await money(first.call, first.token)).toEqual({ left: 6, held: 4 })
  await first.sandbox.stop('SIGKILL')
  await expect(lost).rejects.toThrow()

  const second = await start()
  expect(await money(second.call, second.token)).toEqual({ left: 10, held: 0 })
  const again = await paywall(second.call, keyed(second.token), order)
  expect([again.status, again.body.code, again.headers.get('idempotent-replayed')]).toEqual([
    502,
    'upstream_failed',
    'true',
  ])
  const { body } = await second.call('GET', `/v4/payments/${again.headers.get('x-payment-id')}`, {
    token: second.token,
  })
  expect(body.status).toBe('reversed')
  expect(upstream.requests).toHaveLength(1)
})

test('a process killed at random moments of its calls leaves each payment posted or reversed', async () => {
  let asked = 0
  for (const ms of howMuch([0, 100, 250], [0, 60, 120, 180, 240, 300, 360, 420])) {
    const { sandbox, call, token } = await start()
    const calls = Array.from({ length: 6 }, () => {
      const order = {
        amount: 0.1,
        destination: 'seller.test',
        serviceUrl: `${upstream.url}/${asked % 2 ? 'ok' : 'slow'}`,
      }
      return paywall(call, { token, headers: { 'idempotency-key': `key ${asked++}` } }, order)
    })
    const answers = Promise.allSettled(calls)
    await sleep(ms)
    await sandbox.stop('SIGKILL')
    await answers
  }
  const { call, token } = await start()
  const { payments } = (await call('GET', '/v4/payments?limit=100', { token })).body
  const posted = payments.filter(({ status }: { status: string }) => status === 'posted').length
  expect(payments.every(({ status }: { status: string }) => status === 'posted' || status === 'reversed')).toBe(true)
  expect(await money(call, token)).toEqual({ left: expect.closeTo(10 - posted / 10, 6), held: 0 })
})
