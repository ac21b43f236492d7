import { client, isRefusal } from 'farthing/client'
import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newCommodity, newPayer, newSeller, type Payer, type Seller } from '../../support/scenes/world.js'

const credentials = ({ clientId, clientSecret }: Payer | Seller) => ({
  client_id: clientId,
  client_secret: clientSecret,
})

contract('the typed client', (start) => {
  it('gets tokens, pays once, lists, and tells refusals by their code', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const { call, url, fetch, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller, { balance: 1 })
    const { hash } = await newCommodity(call, seller, { cost: 0.25 })
    const anybody = client(url, { fetch: (input, init) => fetch(new Request(input, init)) })
    const ada = anybody.as(credentials(payer))
    const daily = anybody.as(credentials(seller))

    const once = { idempotencyKey: 'order-7' }
    const paid = await ada.payments.create(hash, { cost: 0.25 }, once)
    expect(await ada.payments.create(hash, { cost: 0.25 }, once)).toEqual(paid)
    expect((await daily.payments.validate(hash, { nonce: paid.nonce })).valid).toBe(true)
    const ids: number[] = []
    for await (const { id } of ada.payments.list({ limit: 1 })) ids.push(id)
    expect(ids).toEqual([paid.id])

    const refused = await ada.payments.create(hash, { cost: 0.2 }).catch((error: unknown) => error)
    if (!isRefusal(refused, 'price_changed')) throw refused
    expect([refused.status, refused.price]).toEqual([409, 0.25])
    await expect(anybody.payments.create(hash)).rejects.toMatchObject({ code: 'authorization_missing', status: 401 })
  })
})
