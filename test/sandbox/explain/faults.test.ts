import { describe, expect, it } from 'vitest'
import { newShop, type Shop } from './scenes/scene.js'

const arm = async ({ call }: Shop, fault: object): Promise<string> =>
  (await call('POST', '/_sandbox/faults', { body: fault })).body.id

describe('an explanation names the fault', () => {
  it('that answered in place of the service, and disarms it', async () => {
    const shop = await newShop()
    const { askAside, explained, fixed, reader, article } = shop
    const id = await arm(shop, { match: { operation_id: 'createPayment' }, at: 'before', do: { status: 503 } })
    // The answer of a fault is not of the table.
    const headers = { accept: 'application/json' }
    const { answer, sent } = await askAside('POST', `/v4/payment/${article.hash}`, {
      token: reader.token,
      body: {},
      headers,
    })
    expect(answer.status).toBe(503)
    const why = await explained(answer)
    expect(why).toMatchObject({ facts: { fault: id }, fix: { operation_id: 'disarmFault' } })
    expect((await fixed({ why, sent })).status).toBe(202)
  })

  it.each([
    ['upstream', { drop: true }, 'upstream_failed'],
    ['upstream', { status: 503 }, 'upstream_failed'],
    ['card', { error: 'ECONNRESET' }, 'processor_failed'],
  ] as const)('of the port %s that does %j', async (port, does, code) => {
    const shop = await newShop()
    const { ask, explained, fixed, reader, item } = shop
    const id = await arm(shop, { match: { port }, at: 'before', do: does })
    const [path, body] =
      port === 'card'
        ? [`/v4/twin/${reader.hostname}/topup`, { amount: 5, payment_method_id: 'pm_card_visa' }]
        : [`/v4/catalog/items/${item.id}/purchases`, { arguments: { city: 'Rome' } }]
    const { answer, sent } = await ask('POST', path, { token: reader.token, body })
    const why = await explained(answer)
    expect(why).toMatchObject({
      facts: { code, fault: id },
      entry: { fault: id },
      fix: { operation_id: 'disarmFault' },
    })
    expect(why.sentences[0]).toBe(
      `The fault ${id} of the sandbox changed this answer. Disarm it with DELETE /_sandbox/faults/${id}.`,
    )
    expect((await fixed({ why, sent })).status).toBe(201)
  })
})
