import { describe, expect, it } from 'vitest'
import { newAgentShop, requestApproval } from '../support/scenes/approvals.js'
import { attacked } from '../support/scenes/attacked.js'
import { changeItem, newItem, newShop, settledSums } from '../support/scenes/catalog.js'
import { expectProblem } from '../support/scenes/market.js'
import { newPage, paywall } from '../support/scenes/paywall.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newCommodity, newSeller, newSession } from '../support/scenes/world.js'

/** Payers and sellers who move value for what its seller took out of sale. */

const upstream = useUpstream()
const startService = attacked()

async function start() {
  const { call } = await startService()
  const endpoint = `${upstream.url}/ok`
  const shop = await newShop(call, { service_schema: { type: 'object' }, external_endpoint: endpoint })
  const { seller, item, payer } = shop
  const pay = (caller: object = { token: payer.token }, body: object = {}, version = 'v4') =>
    call('POST', `/${version}/payment/${item.commodity_hash}`, { ...caller, body })
  const move = (verb: string) => call('POST', `/v4/catalog/items/${item.id}/${verb}`, { token: seller.token })
  return { call, shop, seller, item, payer, endpoint, pay, move, sums: () => settledSums(call, shop) }
}

describe('a payment by hash', () => {
  it('an inactive, archived or restored item takes no payment by the hash of its commodity', async () => {
    const { call, seller, item, payer, pay, move, sums } = await start()
    const session = await newSession(call, payer.email)
    const persona = await newPersona(call, payer)
    const { hash } = await newDelegate(
      call,
      { token: payer.token },
      {
        ...{ persona: persona.hash, hostname: item.hostname },
        spend: { party: { client_id: seller.clientId }, limit: 5, dq: item.dq },
      },
    )
    const expectRefused = async () => {
      for (const version of ['v4', 'v2']) expectProblem(await pay(undefined, {}, version), 409, 'item_inactive')
      expectProblem(await pay({ session }), 409, 'item_inactive')
      expectProblem(await pay(undefined, { cost: 0.25, dq: item.dq }), 409, 'item_inactive')
      const delegate = { persona_delegate: hash }
      expectProblem(await pay({ token: seller.token }, delegate), 409, 'item_inactive')
      const embed = { ...delegate, public_secret: seller.publicSecret }
      expectProblem(await pay({}, embed), 409, 'item_inactive')
    }
    await changeItem(call, seller, item, { active: false })
    await expectRefused()
    await move('archive')
    await expectRefused()
    await move('restore')
    await expectRefused()
    expect(await sums()).toEqual([10, 0])
    await changeItem(call, seller, item, { active: true })
    expect((await pay()).status).toBe(202)
    expect((await pay({ token: seller.token }, { persona_delegate: hash })).status).toBe(202)
    expect(await sums()).toEqual([9.5, 0.5])
  })

  it('an earlier payment stays valid, and is validated once', async () => {
    const { call, seller, item, pay, move } = await start()
    const { nonce, timestamp } = (await pay()).body
    await move('archive')
    const validate = () =>
      call('POST', `/v4/payment/${item.commodity_hash}/validate`, { token: seller.token, body: { nonce, timestamp } })
    expect((await validate()).status).toBe(200)
    expectProblem(await validate(), 400, 'nonce_used')
  })

  it('payments that race an archival either succeed or are refused', async () => {
    const { pay, move, sums } = await start()
    const [archived, ...paid] = await Promise.all([move('archive'), ...Array.from({ length: 6 }, () => pay())])
    const charged = paid.filter(({ status }) => status === 202).length
    expect([archived.status, await sums()]).toEqual([200, [10 - charged * 0.25, charged * 0.25]])
    expectProblem(await pay(), 409, 'item_inactive')
  })

  it("a stranger cannot pay for a private item, which only the seller's own server sells", async () => {
    const { call, seller, item, pay, sums } = await start()
    await changeItem(call, seller, item, { private: true })
    expectProblem(await pay(), 409, 'item_inactive')
    expect(await sums()).toEqual([10, 0])
  })

  it('a seller pays for its own private item with a delegate, and another account cannot', async () => {
    const { call, seller, item, payer, pay } = await start()
    await changeItem(call, seller, item, { private: true })
    const persona = await newPersona(call, payer)
    const payAs = async ({ token, clientId }: Awaited<ReturnType<typeof newSeller>>) => {
      const spend = { party: { client_id: clientId }, limit: 5, dq: item.dq }
      const given = await newDelegate(
        call,
        { token: payer.token },
        { persona: persona.hash, hostname: item.hostname, spend },
      )
      return pay({ token }, { persona_delegate: given.hash })
    }
    expectProblem(await payAs(await newSeller(call)), 409, 'item_inactive')
    expect((await payAs(seller)).status).toBe(202)
  })

  it('a commodity without an item still takes payments', async () => {
    const { call, seller, payer } = await start()
    const { hash } = await newCommodity(call, seller)
    expect((await call('POST', `/v4/payment/${hash}`, { token: payer.token })).status).toBe(202)
  })
})

describe('the paywall', () => {
  it("takes no payment for the endpoint of an inactive item, whichever of the seller's twins is the payee", async () => {
    const { call, shop, seller, item, payer, endpoint, move, sums } = await start()
    const order = { amount: 1, serviceUrl: endpoint }
    const page = await newPage(call, { ...shop, shop: item.hostname, hash: item.commodity_hash })
    const named = { serviceUrl: endpoint, amount: 1, destination: item.hostname }
    await move('archive')
    upstream.requests.length = 0
    expectProblem(await paywall(call, { token: payer.token }, order), 400, 'destination_unknown')
    expectProblem(await paywall(call, { token: payer.token }, named), 409, 'item_inactive')
    expectProblem(await paywall(call, page, order), 409, 'item_inactive')
    expect([await sums(), upstream.requests]).toEqual([[10, 0], []])
    await move('restore')
    expectProblem(await paywall(call, { token: payer.token }, named), 409, 'item_inactive')
    await changeItem(call, seller, item, { active: true })
    expect((await paywall(call, { token: payer.token }, order)).status).toBe(200)
    expect(await sums()).toEqual([9, 1])
  })

  it('an inactive item does not stop other sellers from using its URL', async () => {
    const { call, payer, endpoint, item, sums } = await start()
    const { token } = await newSeller(call)
    await newItem(call, { token }, { external_endpoint: endpoint, active: false })
    await newItem(call, { token }, { external_endpoint: `${endpoint}/other`, active: false })
    expect((await paywall(call, { token: payer.token }, { amount: 1, serviceUrl: endpoint })).status).toBe(200)
    const other = { amount: 1, serviceUrl: `${endpoint}/other`, destination: item.hostname }
    expect((await paywall(call, { token: payer.token }, other)).status).toBe(200)
    expect(await sums()).toEqual([8, 2])
  })

  it('refuses an approval for the endpoint of an inactive item', async () => {
    const { call, agent, item, seller } = await newAgentShop(startService)
    await changeItem(call, seller, item, { active: false })
    const serviceUrl = 'https://api.example.test/weather'
    const wish = { kind: 'paywall', amount: 1, serviceUrl }
    expectProblem(await requestApproval(call, agent, wish), 400, 'destination_unknown')
    expectProblem(await requestApproval(call, agent, { ...wish, destination: item.hostname }), 409, 'item_inactive')
  })
})
