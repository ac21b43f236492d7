import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { answerApproval, approved, newAgentShop, requestApproval } from '../../support/scenes/approvals.js'
import { purchase } from '../../support/scenes/catalog.js'
import { advance, expectProblem } from '../../support/scenes/market.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()
const sold = () => ({ external_endpoint: `${upstream.url}/ok` })
const OSLO = { arguments: { city: 'Oslo', hours: 3 } }

contract('an approval', (start) => {
  it('is refused with 400 if its text is too long for people to read', { tags: 'everywhere' }, async () => {
    const { call, agent, payer, item } = await newAgentShop(start, sold())
    const paywall = { kind: 'paywall', amount: 1, destination: item.hostname, serviceUrl: `${upstream.url}/ok` }
    const ask = (length: number) =>
      requestApproval(call, agent, { ...paywall, additionalParams: { text: 'x'.repeat(length) } })
    const refused = await ask(32 * 1024)
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('detail')
    expect((await ask(31 * 1024)).status).toBe(201)
    expect((await call('GET', '/v4/approvals', payer)).body.approvals).toHaveLength(1)
  })

  it('is readable for thirty days after its time was over', async () => {
    const shop = await newAgentShop(start, sold())
    const { call, agent, payer, item } = shop
    const wish = { kind: 'purchase', catalog_item_id: item.id, ...OSLO }
    const spent = await approved(call, shop, wish)
    await purchase(call, agent, item, { ...OSLO, approval_id: spent })
    await approved(call, shop, wish)
    const rejected = (await requestApproval(call, agent, wish)).body.approval_id
    await answerApproval(call, payer, rejected, 'reject')
    await requestApproval(call, agent, wish)
    await advance(call, '1h')
    await advance(call, '29d')
    const found = async () => {
      const session = await newSession(call, payer.email)
      return (await call('GET', '/v4/approvals', { session })).body.approvals
    }
    const statuses = (await found()).map(({ status }: { status: string }) => status)
    expect(statuses).toEqual(['expired', 'rejected', 'expired', 'spent'])
    await advance(call, '26h')
    expect(await found()).toEqual([])
  })
})
