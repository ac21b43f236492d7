import { expect, onTestFinished, test } from 'vitest'
import { createService } from '../../../src/index.js'
import { caller } from '../../support/api.js'
import { newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

test('a call that does again what a lost one did is named, and later or different ones are not', async () => {
  const service = createService({ sandbox: true })
  onTestFinished(() => service.close())
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const { hash } = await newCommodity(call, seller)
  const [one, other] = [await newPayer(call, seller, { balance: 5 }), await newPayer(call, seller, { balance: 5 })]
  const pay = async ({ token }: { token: string }) => {
    const answer = await call('POST', `/v4/payment/${hash}`, { token }).catch(() => undefined)
    return (
      answer?.headers.get('x-request-id') ?? (await service.sandbox.requests.list({ limit: 1 })).requests[0]?.id ?? ''
    )
  }
  await service.sandbox.faults.arm({
    match: { operation_id: 'createPayment' },
    at: 'after_commit',
    do: { drop: true },
    times: 1,
  })
  const lost = await pay(one)
  const explained = await service.sandbox.requests.explain(lost)
  expect(explained.sentences).toContainEqual(expect.stringContaining('It had no Idempotency-Key'))
  const repeats = async (id: string) => (await service.sandbox.requests.explain(id)).facts.repeats
  expect(await repeats(await pay(other))).toBeUndefined()
  expect(await repeats(await pay(one))).toBe(lost)
  expect(await repeats(await pay(one))).toBeUndefined()
})
