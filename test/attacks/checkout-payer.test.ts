import { expect, test, vi } from 'vitest'
import type { CallOptions } from '../support/api.js'
import { cardService, gate } from '../support/scenes/card-service.js'
import { cardMessages, complete, guest, newCheckout, newShop, settled, withCard } from '../support/scenes/checkout.js'
import { expectProblem } from '../support/scenes/market.js'
import { askCode, mailedCode, verify } from '../support/scenes/sign-in.js'

const EMAIL = 'ada@example.test'

/** A shop, a link, and a guest; `delivers` is what the upstream service does. */
async function prepared(played: Parameters<typeof cardService>[0] = {}) {
  const running = await cardService(played)
  const shop = await newShop(running.call, 'https://api.example.test/story')
  return { ...running, shop, link: await newCheckout(running.call, shop), reader: await guest(running.call) }
}

/** An upstream service that fails until it is told to deliver. */
function failingUpstream() {
  const upstream = {
    delivers: false,
    fetch: async () => new Response('The story.', { status: upstream.delivers ? 200 : 503 }),
  }
  return upstream
}

/** The session that goes on when a guest signs in. */
async function signIn(
  { call }: Pick<Awaited<ReturnType<typeof prepared>>, 'call'>,
  { session = '' }: CallOptions,
  email = EMAIL,
): Promise<CallOptions> {
  await askCode(call, session, email)
  const { status, body } = await verify(call, session, email, await mailedCode(call, email))
  expect(status).toBe(200)
  return { session: body.session_id }
}

/** A guest whose card was charged, while nothing was delivered. */
async function charged() {
  const upstream = failingUpstream()
  const running = await prepared({ upstream })
  expectProblem(await withCard(running.call, running.link, running.reader), 502, 'upstream_failed')
  upstream.delivers = true
  return running
}

test("uses a guest's charge after they sign in, and answers a retry with the same receipt", async () => {
  const running = await charged()
  const { call, link, shop, asked } = running
  const user = await signIn(running, running.reader)
  const paid = await withCard(call, link, user, 'pm_card_expired')
  expect(paid.status).toBe(200)
  expect((await withCard(call, link, user)).body).toEqual(paid.body)
  expect(asked).toHaveLength(1)
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
})

test('keeps the charge of a guest who signs in on the page', async () => {
  const running = await charged()
  const { call, link, reader } = running
  const page = `/checkout/${link.token}`
  await call('POST', page, { ...reader, form: { answer: 'continue', email: EMAIL } })
  const code = await mailedCode(call, EMAIL)
  const verified = await call('POST', page, { ...reader, form: { answer: 'verify', code } })
  const user = { session: verified.headers.get('x-session-id') ?? '' }
  expect(user.session).not.toBe(reader.session)
  expect((await call('GET', page, user)).text).toContain('Your card was already charged')
  expect((await withCard(call, link, user)).status).toBe(200)
  expect(running.asked).toHaveLength(1)
})

test("lets nobody else use the charge: not the guest's old session id, another guest or another user", async () => {
  const running = await charged()
  const { call, link, reader, asked } = running
  const user = await signIn(running, reader)
  const stranger = await signIn(running, await guest(call), 'eve@example.test')
  for (const other of [reader, await guest(call), stranger])
    expectProblem(await withCard(call, link, other, 'pm_card_expired'), 402, 'card_declined')
  expect((await withCard(call, link, user)).status).toBe(200)
  for (const other of [reader, await guest(call), stranger])
    expectProblem(await withCard(call, link, other), 409, 'checkout_paid')
  // One charge, and three cards that were declined.
  expect(asked).toHaveLength(4)
})

test('shows the receipt to a guest after their sign-in, and not to their old session id', async () => {
  const running = await prepared()
  const { call, link, reader } = running
  const paid = await withCard(call, link, reader)
  const user = await signIn(running, reader)
  expect((await withCard(call, link, user)).body).toEqual(paid.body)
  expectProblem(await withCard(call, link, reader), 409, 'checkout_paid')
})

test('neither loses nor repeats the charge if the guest signs in during it', async () => {
  const let_ = gate()
  const running = await prepared({
    async charge({ id }) {
      await let_.opened
      return { status: 'succeeded', charge_id: `ch_${id}` }
    },
  })
  const { call, link, shop, reader, asked } = running
  const paying = withCard(call, link, reader)
  await vi.waitUntil(() => asked.length === 1)
  const user = await signIn(running, reader)
  let_.open()
  const paid = await paying
  expect(paid.status).toBe(200)
  expect((await withCard(call, link, user)).body).toEqual(paid.body)
  expect([asked.length, running.refunds.length]).toEqual([1, 0])
  expect(await settled(call, shop)).toEqual({ seller: 2, payer: 10, issued: 12 })
})

test('neither loses nor refunds the charge if the guest signs in during the delivery', async () => {
  const let_ = gate()
  const fetched = vi.fn()
  const running = await prepared({
    upstream: {
      async fetch() {
        fetched()
        await let_.opened
        return new Response('The story.')
      },
    },
  })
  const { call, link, reader, asked } = running
  const paying = withCard(call, link, reader)
  await vi.waitUntil(() => fetched.mock.calls.length === 1)
  const user = await signIn(running, reader)
  let_.open()
  const paid = await paying
  expect(paid.status).toBe(200)
  expect((await withCard(call, link, user)).body).toEqual(paid.body)
  await running.service.sandbox.advance('2d')
  expect([asked.length, running.refunds.length]).toEqual([1, 0])
  expect(fetched).toHaveBeenCalledTimes(1)
  expect((await cardMessages(call, 'refund')).length).toBe(0)
})

test('refunds the card if the payer signs in and pays from the wallet instead', async () => {
  const running = await charged()
  const { call, link, shop, reader } = running
  const user = await signIn(running, reader, shop.payer.email)
  expect((await complete(call, link, user)).status).toBe(200)
  await expect.poll(() => running.refunds.length).toBe(1)
  await expect.poll(() => settled(call, shop).catch(() => null)).toEqual({ seller: 2, payer: 8, issued: 10 })
})

test('carries nothing from a signed-in session to its next user', async () => {
  const running = await charged()
  const { call, link, reader, asked } = running
  const ada = await signIn(running, reader)
  const eve = await signIn(running, ada, 'eve@example.test')
  expectProblem(await withCard(call, link, eve, 'pm_card_expired'), 402, 'card_declined')
  expect(asked).toHaveLength(2)
  const adaAgain = await signIn(running, await guest(call))
  expect((await withCard(call, link, adaAgain)).status).toBe(200)
  expect(asked).toHaveLength(2)
})
