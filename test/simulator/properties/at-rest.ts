import { idempotency } from '../../../src/http/idempotency/idempotency.js'
import { outbox } from '../../../src/jobs/outbox/outbox.js'
import { checkouts } from '../../../src/market/checkout/checkout-row.js'
import { balances, type MovementRow, movements } from '../../../src/money/ledger/movement.js'
import { heldCalls } from '../../../src/payments/payments/held-payment.js'
import { payments } from '../../../src/payments/payments/payment.js'
import type { Collection, Row, Storage } from '../../../src/storage/storage.js'
import type { Outside } from '../machine/outside.js'
import { hold } from './broken.js'
import type { Records } from './records.js'

/** What must be so when faults have stopped, time has passed, and nobody asks for anything. */
export async function checkAtRest(storage: Storage, records: Records, outside: Outside): Promise<void> {
  const all = <R extends Row>(from: Collection<R>) =>
    storage.read((tx) => tx.find(from, { index: 'id', prefix: [], limit: 100_000 }))
  const held = (await all(balances)).filter((balance) => balance.held !== '0' || (balance.reserved ?? '0') !== '0')
  hold(held.length === 0, 'Nothing stays held', held)
  const open = (await all(payments)).filter(({ status }) => status === 'pending' || status === 'held')
  hold(open.length === 0, 'No payment stays open', open)
  hold((await all(heldCalls)).length === 0, 'No call of an endpoint stays open', await all(heldCalls))
  const paying = (await all(checkouts)).filter(({ status }) => status === 'paying')
  hold(paying.length === 0, 'No checkout stays half paid', paying)
  const waiting = (await all(outbox)).filter(({ status }) => status === 'pending')
  hold(waiting.length === 0, 'No message waits forever', waiting)
  // The sweep removes what nobody holds.
  const claimed = (await all(idempotency)).filter(({ claim }) => claim !== null)
  hold(claimed.length === 0, 'No key stays taken', claimed)
  if (!records.hasForgotten && !records.hasForks) checkCards(await all(movements), outside)
  const rows = new Map((await all(payments)).map((payment) => [payment.id, payment]))
  for (const [id, quote] of records.paid) {
    const row = rows.get(id)
    hold(row !== undefined, 'What was confirmed is kept', [id, quote])
  }
}

/** Value was issued for each card that was charged, and given back for each refund. */
function checkCards(moved: readonly MovementRow[], { charges, refunds }: Outside): void {
  const sum = (amounts: readonly { readonly amount: string }[]) =>
    amounts.reduce((total, { amount }) => total + BigInt(amount), 0n).toString()
  const posted = (kind: string) => sum(moved.filter((each) => each.kind === kind && each.state === 'posted'))
  const charged = [...charges.values()]
    .filter(({ result }) => result.status === 'succeeded')
    .map(({ charge }) => charge)
  const topups = sum(charged.filter(({ id }) => !id.startsWith('invoice')))
  hold(topups === posted('topup'), 'Value is issued for what cards were charged', [topups, posted('topup')])
  // A seller may have returned by hand what the processor refused to.
  const asked = [...refunds.values()]
  const most = sum(asked.map(({ refund }) => refund))
  const least = sum(asked.filter(({ result }) => result.status === 'refunded').map(({ refund }) => refund))
  const left = posted('refund')
  const isSame = BigInt(least) <= BigInt(left) && BigInt(left) <= BigInt(most)
  hold(isSame, 'What a card gets back leaves the ledger', { least, left, most })
}
