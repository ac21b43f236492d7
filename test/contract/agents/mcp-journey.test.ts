import { expect, it } from 'vitest'
import { systemAlarm } from '../../../src/base/ports.js'
import { connectAgent } from '../../../src/sandbox/scripted-agent/agent.js'
import { People } from '../../../src/sandbox/scripted-agent/person.js'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newItem } from '../../support/scenes/catalog.js'
import { expectSoundLedger, fund } from '../../support/scenes/market.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSeller } from '../../support/scenes/world.js'

const upstream = useUpstream()
const EMAIL = 'ada@example.test'

/** The controls that a scripted agent needs, wherever the service runs. */
const controlsOf = (call: Call) => ({
  outbox: async ({ to, limit }: { to?: string | undefined; limit?: number | undefined }) =>
    (await call('GET', `/_sandbox/outbox?to=${encodeURIComponent(to ?? '')}&kind=mail&limit=${limit}`)).body,
  phone: (id: number) => ({ approve: () => call('POST', `/_sandbox/devices/${id}/approve`) }) as any,
  approve: async (id: string) => (await call('POST', `/_sandbox/approvals/${id}/approve`)).body,
  reject: async (id: string) => (await call('POST', `/_sandbox/approvals/${id}/reject`)).body,
})

contract('an MCP client', (start) => {
  it.each(['2026-07-28', '2025-11-25'] as const)(
    'of %s registers, is let in, searches, asks for approval, buys once and reads the receipt; the seller’s binder shows it',
    { tags: 'everywhere' },
    async (protocol) => {
      const { call, fetch, url, made: seller } = await startWith(start, newSeller)
      const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok` })
      const stage = { baseUrl: url, fetch, sandbox: controlsOf(call), alarm: systemAlarm }
      const agent = await connectAgent({ email: EMAIL, protocol }, new People(stage))
      const { hostname } = await agent.call('agent_wallet_info')
      await fund(call, hostname as string, 1)
      const { items } = (await agent.call('catalog_search', { query: 'weather' })) as any
      expect(items).toMatchObject([{ id: item.id, price: 0.25 }])
      const order = { catalog_item_id: items[0].id, arguments: { city: 'Oslo' } }
      const refused = await agent.buy(order)
      expect(refused).toMatchObject({ isError: true, code: 'approval_required', approval: { kind: 'purchase' } })
      const { approval_id, url: page } = await agent.request(order)
      expect(page).toBe(`${url}/approvals/${approval_id}`)
      await stage.sandbox.approve(approval_id)
      const bought = await agent.buy(order, approval_id)
      expect(bought).toMatchObject({ isError: false, status: 'paid', response: { status: 200 } })
      expect(await agent.buy(order, approval_id)).toMatchObject({ isError: true, code: 'approval_spent' })
      const { contents } = await agent.client.readResource({ uri: `farthing://receipts/${bought.transaction_id}` })
      expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ status: 'paid', amount: 0.25 })
      await agent.close()
      const accept = { token: seller.token, headers: { accept: 'application/json' } }
      const binder = (await call('GET', `/v4/twin/${item.hostname}/binder`, accept)).body
      expect(binder).toMatchObject([{ data: { entry: { amount: 0.25, type: item.dq } } }])
      expect(upstream.requests).toHaveLength(1)
      await expectSoundLedger(call)
    },
  )
})
