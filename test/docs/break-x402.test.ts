import { expect, test } from 'vitest'
import { createService, type Fault } from '../../src/index.js'
import { caller } from '../support/api.js'
import { readPage } from '../support/docs/markdown.js'
import { heldBy, newWallet, paymentOf, settle } from '../support/scenes/x402.js'

/** The rows of the table of hostile modes. */
const modes = readPage('docs/guides/break-x402.md')
  .split('\n')
  .flatMap((line) => {
    const [, mode, ledger, , json] = /^\| (.+?) \| (.+?) \| (.+) \| `(\{.*\})` \|$/.exec(line) ?? []
    return mode && ledger && json ? [{ mode, ledger, fault: JSON.parse(json) as Fault }] : []
  })

test('the table has every mode of the field x402', () => {
  const named = new Set(modes.flatMap(({ fault }) => fault.do.x402 ?? []))
  expect([...named].sort()).toEqual(
    ['late', 'other_receipt', 'settlement_pending', 'settlement_pending_always', 'success_false', 'wrong_payer'].sort(),
  )
})

test.each(modes)('$mode: the control arms it, and the ledger does what the table says', async ({ ledger, fault }) => {
  const service = createService({ sandbox: true })
  const fetch = (request: Request) => service.fetch(request)
  const call = caller({ url: service.baseUrl, fetch })
  try {
    const body = fault.do.delay_ms ? { ...fault, do: { delay_ms: 1 } } : fault
    expect((await call('POST', '/_sandbox/faults', { body })).status).toBe(201)
    const account = await newWallet(call)
    const payment = await paymentOf(account)
    const path = fault.match.operation_id === 'verifyX402Payment' ? '/x402/verify' : '/x402/settle'
    const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(payment) }
    for (let tries = 0; tries < 2; tries++)
      await service.fetch(new Request(service.baseUrl + path, sent)).catch(() => undefined)
    expect((await service.sandbox?.faults.list())?.[0]?.fired).toBeGreaterThan(0)
    expect(await heldBy(call, account.address)).toBe(ledger.startsWith('nothing') ? 1 : 0.99)
    await call('DELETE', '/_sandbox/faults')
    // What it did not settle then, it settles now.
    await settle(call, payment)
    expect(await heldBy(call, account.address)).toBe(0.99)
  } finally {
    await service.close()
  }
})
