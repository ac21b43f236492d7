import { describe, expect, test } from 'vitest'
import { createService } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { messageIn, modern, send } from '../support/mcp/mcp.js'
import { expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { callItem, newPaidShop, signFor } from '../support/scenes/paid-calls.js'
import { payings, sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { fundAddress, heldBy, newAccount, newWallet, paymentOf, settle, verify } from '../support/scenes/x402.js'

/** A disk that fails while a signed payment is taken: nobody is asked to sign again, and asking again pays once. */

const upstream = useUpstream()
const KEY = { 'idempotency-key': '5f0f7b6e-6d6d-4a8e-9c29-0d6c8a1f7b11' }
const extensions = { 'payment-identifier': { info: { id: 'pay_0123456789abcdef' } } }

function started() {
  const service = createService({ sandbox: true, log: { error() {} } })
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

/** Which write fails: the one that holds the payment, or the one that settles it. Before it lands, or afterwards. */
const faults = (['before', 'after_commit'] as const).flatMap((at) => [1, 2].map((write) => ({ at, write })))

const arm = (call: Call, { at, write }: (typeof faults)[number]) =>
  call('POST', '/_sandbox/faults', {
    body: { match: { port: 'storage' }, at, do: { error: 'EIO' }, every: write, times: 1 },
  })

/** A run that nobody ends is given back when its time is over. */
async function untilEnded<A extends { status: number }>(call: Call, ask: () => Promise<A>): Promise<A> {
  const answer = await ask()
  if (answer.status !== 409) return answer
  await call('POST', '/_sandbox/clock', { body: { advance: '3m' } })
  return ask()
}

const each = Object.entries(sales).flatMap(([what, open]) =>
  Object.entries(payings).flatMap(([dialect, paying]) =>
    faults.map((fault) => ({ what, dialect, ...fault, open, paying, fault })),
  ),
)

test.each(each)('$what, paid by $dialect, fails $at write $write and is then paid once', async (at) => {
  const { service, call } = started()
  const sale = await at.open(call, `${upstream.url}/ok`)
  const account = await newWallet(call, 1)
  const header = { ...KEY, ...(await at.paying.sign(account, await sale.ask(), { validBefore: 4_102_444_800 })) }
  expect((await arm(call, at.fault)).status).toBe(201)
  const failed = await sale.ask(header)
  expect([failed.status, failed.headers.get('payment-required')]).toEqual([503, null])
  expect(['storage_unavailable', 'outcome_unknown']).toContain(failed.body.code)
  await call('DELETE', '/_sandbox/faults')
  const again = await untilEnded(call, () => sale.ask(header))
  expect([again.status, again.headers.get('x-payment-status')]).toEqual([200, 'posted'])
  expect((await sale.ask(header)).text).toBe(again.text)
  expect(await heldBy(call, account.address)).toBe(0.99)
  await expectSoundLedger(call)
  await service.close()
})

describe.each([verify, settle])('the facilitator', (act) => {
  test.each(['before', 'after_commit'] as const)('answers 503 if the disk fails %s, and settles once', async (at) => {
    for (const balance of [1, 0]) {
      const { service, call } = started()
      await fundAddress(call, newAccount().address, 1)
      const account = await newWallet(call, balance)
      const payment = await paymentOf(account, { extensions })
      await arm(call, { at, write: 1 })
      const failed = await act(call, payment)
      // A payment that is only verified writes nothing.
      if (act === settle || balance === 0) expect(failed.status).toBe(503)
      await call('DELETE', '/_sandbox/faults')
      expect((await settle(call, payment)).body.success).toBe(balance === 1)
      expect(await heldBy(call, account.address)).toBe(balance === 1 ? 0.99 : 0)
      await service.close()
    }
  })
})

test.each(faults)('a tool whose disk fails $at write $write never says that nothing was changed', async (fault) => {
  const { service, call } = started()
  const { seller, item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok`, featured: true })
  const { accessToken: token } = await newAgent(call)
  const account = await newWallet(call, 1)
  const callTool = async (meta: object) => {
    const { message, headers } = modern('tools/call', {
      name: 'agent_checkout',
      arguments: { catalog_item_id: item.id, arguments: { city: 'Oslo' } },
    })
    const params = { ...message.params, _meta: { ...message.params._meta, ...meta } }
    return messageIn(await send(call, { ...message, params }, { path: `/mcp/${seller.id}`, token, headers })).result
  }
  const [{ payTo, amount, asset, extra }] = (await callTool({ 'x402/version': 2 })).structuredContent.accepts
  const { paymentPayload } = await paymentOf(account, { payTo, amount, asset, ...extra, extensions })
  const pay = () => callTool({ 'x402/payment': paymentPayload })
  await arm(call, fault)
  const failed = await pay()
  expect([failed.isError, failed.structuredContent.code]).toEqual([true, 'outcome_unknown'])
  await call('DELETE', '/_sandbox/faults')
  let paid = await pay()
  if (paid.structuredContent.code === 'idempotency_in_progress') {
    await call('POST', '/_sandbox/clock', { body: { advance: '3m' } })
    paid = await pay()
  }
  expect(paid.structuredContent.status).toBe('paid')
  expect(await heldBy(call, account.address)).toBe(0.99)
  await service.close()
})

test('an unnamed payment is told what a refusal of the retry means', async () => {
  const { service, call } = started()
  const { item } = await newPaidShop(call, { external_endpoint: `${upstream.url}/ok` })
  const header = await signFor(call, await newWallet(call, 1), item)
  await arm(call, { at: 'after_commit', write: 2 })
  const unknown = await callItem(call, item, header)
  expectProblem(unknown, 503, 'outcome_unknown')
  expect(unknown.body.error).toContain('refused as used, it was charged')
  await service.close()
})
