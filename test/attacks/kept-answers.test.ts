import { afterEach, expect, it } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service } from '../../src/index.js'
import { storageOver } from '../../src/storage/service-storage.js'
import { Transaction } from '../../src/storage/transaction.js'
import { type Answer, type Call, caller } from '../support/api.js'
import { anotherAgent, requestApproval } from '../support/scenes/approvals.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { newPayer, newSeller, type Payer, type Seller } from '../support/scenes/world.js'

/** A process dies after it has committed the effect of a call, and before it writes anything else: a retry gets the answer. */

let service: Service
afterEach(() => service.close())

interface Kept {
  readonly sealed: string | null
}

/** A service that cannot store an answer apart from its effect. */
function startDying(): Call {
  const inner = memoryStorage()
  const storage = storageOver(inner, {
    write: (body) =>
      inner.write(async (tx) => {
        const own = Transaction.over(tx)
        const value = await body(own)
        const changes = [...own.changes()]
        const isAnswerAlone =
          changes.length === 1 &&
          changes.every(({ collection, rows }) =>
            collection.name === 'idempotency'
              ? [...rows.values()].some((row) => (row as Kept | null)?.sealed !== null)
              : false,
          )
        if (isAnswerAlone) throw new Error('the process died')
        return value
      }),
  })
  service = createService({ sandbox: true, storage, log: { error: () => {} } })
  return caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
}

interface Scene {
  readonly call: Call
  readonly seller: Seller
  readonly payer: Payer
}

const headers = { 'idempotency-key': 'a-key-that-is-sent-again' }

it.each<[what: string, plan: (scene: Scene) => Promise<() => Promise<Answer>>]>([
  [
    'the approval of what an agent requested',
    async ({ call, payer }) => {
      const agent = await anotherAgent(call, payer)
      const wish = { kind: 'transfer', address: 'eve@example.test', amount: 1 }
      const { approval_id } = (await requestApproval(call, agent, wish)).body
      return () => call('POST', `/v4/approvals/${approval_id}/approve`, { token: payer.token, headers })
    },
  ],
  [
    'the rejection of what an agent requested',
    async ({ call, payer }) => {
      const agent = await anotherAgent(call, payer)
      const wish = { kind: 'transfer', address: 'eve@example.test', amount: 1 }
      const { approval_id } = (await requestApproval(call, agent, wish)).body
      return () => call('POST', `/v4/approvals/${approval_id}/reject`, { token: payer.token, headers })
    },
  ],
  [
    'a card on file',
    async ({ call, seller: { token } }) => {
      const body = { payment_method_id: 'pm_card_visa' }
      return () => call('PUT', '/v4/billing/card', { token, body, headers })
    },
  ],
  [
    'a transfer',
    async ({ call, seller, payer: { token } }) => {
      const { hostname: address } = await newPayer(call, seller)
      return () => call('POST', '/v4/transfer', { token, body: { address, amount: 1 }, headers })
    },
  ],
  [
    'client credentials',
    async ({ call, payer: { token } }) =>
      () =>
        call('POST', '/v4/user/secrets', { token, headers }),
  ],
  [
    'a delegate',
    async ({ call, payer: { token, hostname } }) => {
      const { hash } = await newPersona(call, { token })
      await newDelegate(call, { token }, { persona: hash, hostname })
      return () => call('POST', `/v4/persona/${hash}/delegate`, { token, body: { hostname }, headers })
    },
  ],
])('%s', async (_, plan) => {
  const call = startDying()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 10 })
  const send = await plan({ call, seller, payer })
  const first = await send()
  expect(first.status).toBeLessThan(300)
  const again = await send()
  expect([again.status, again.text]).toEqual([first.status, first.text])
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})
