import { afterEach, expect, test } from 'vitest'
import type { Running } from '../runtimes/runtime.js'
import { runtimes } from '../runtimes.js'
import { caller } from '../support/api.js'
import { newCommodity, newPayer, newSeller, newSession } from '../support/scenes/world.js'

const open: Running[] = []
afterEach(async () => {
  for (const running of open.splice(0)) await running.close()
})

test('a snapshot passes through each runtime and storage in turn, and returns with the same bytes', async () => {
  const started = []
  for (const runtime of runtimes) {
    const running = await runtime.start({})
    open.push(running)
    started.push({ name: runtime.name, call: caller(running) })
  }
  const [{ call } = started[0] as never] = started as [(typeof started)[0]]
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller, { descriptor: 'Ä €😀' })
  const payer = await newPayer(call, seller, { balance: 5 })
  await newSession(call, payer.email)
  expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(202)

  // A mail that is on its way would be sent in the next runtime.
  const statuses = async () =>
    (await call('GET', '/_sandbox/outbox')).body.messages.map(({ status }: { status: string }) => status)
  await expect.poll(statuses).not.toContain('pending')
  const taken = (await call('GET', '/_sandbox/snapshot')).text
  for (const { name, call } of [...started.slice(1), ...started.slice(0, 1)]) {
    expect((await call('PUT', '/_sandbox/snapshot', { body: JSON.parse(taken) })).status, name).toBe(204)
    expect((await call('GET', '/_sandbox/snapshot')).text, name).toBe(taken)
    const { body } = await call('GET', '/_sandbox/ledger')
    expect([body.ok, body.movements], name).toEqual([true, 2])
  }
})
