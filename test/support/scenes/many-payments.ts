import { commodities } from '../../../src/money/commodities/commodity.js'
import { balanceOf, balances, entries, movements } from '../../../src/money/ledger/movement.js'
import { twins } from '../../../src/money/twins/twin.js'
import { payments } from '../../../src/payments/payments/payment.js'
import type { Storage, Writer } from '../../../src/storage/storage.js'

const AT_ONCE = 5000

/** Writes payments of one smallest unit each, as if they had been made, and the balances that follow. */
export async function writePayments(storage: Storage, count: number): Promise<void> {
  for (let written = 0; written < count; written += AT_ONCE)
    await storage.write((tx) => writeSome(tx, Math.min(AT_ONCE, count - written)))
}

async function writeSome(tx: Writer, count: number): Promise<void> {
  const [commodity] = await tx.find(commodities, { index: 'id', prefix: [], limit: 1 })
  const all = await tx.find(twins, { index: 'id', prefix: [], limit: 100 })
  const seller = all.find(({ id }) => id === commodity?.twin_id)
  const payers = all.filter(({ owner }) => owner.startsWith('user:'))
  if (!commodity || !seller || payers.length === 0) throw new Error('the seed has a commodity and users')
  const { dq, descriptor, id: hash } = commodity
  const ids = await tx.nextIds(
    Array.from({ length: count }, () => ['payments', 'movements', 'entries', 'entries']).flat(),
  )
  const spent = new Map<number, number>()
  for (let n = 0; n < count; n++) {
    const [id = 0, movementId = 0, one = 0, two = 0] = ids.slice(n * 4, n * 4 + 4)
    const payer = payers[n % payers.length] ?? seller
    spent.set(payer.id, (spent.get(payer.id) ?? 0) + 1)
    const at = 1_700_000_000_000 + movementId * 1000
    const parties = { payer_twin_id: payer.id, payee_twin_id: seller.id }
    tx.put(movements, {
      ...{ id: movementId, kind: 'payment', dq, amount: '1', ...parties, state: 'posted' },
      ...{ created_at: at, settled_at: at, held_at: null },
    })
    const side = { movement_id: movementId, dq, at }
    tx.put(entries, { ...side, id: one, twin_id: payer.id, counterpart_twin_id: seller.id, amount: '-1' })
    tx.put(entries, { ...side, id: two, twin_id: seller.id, counterpart_twin_id: payer.id, amount: '1' })
    tx.put(payments, {
      ...{ id, kind: 'payment', movement_id: movementId, hash, descriptor, dq, amount: '1', ...parties },
      ...{ payer_owner: payer.owner, payee_owner: seller.owner, status: 'posted', created_at: at },
      ...{ nonce_digest: null, nonce_expires_at: null, nonce_used_at: null },
    })
  }
  await move(tx, { twinId: seller.id, dq, units: count })
  for (const [twinId, units] of spent) await move(tx, { twinId, dq, units: -units })
}

async function move(tx: Writer, { twinId, dq, units }: { twinId: number; dq: string; units: number }): Promise<void> {
  const row = await balanceOf(tx, twinId, dq)
  tx.put(balances, { ...row, amount: String(BigInt(row.amount) + BigInt(units)) })
}
