import { afterEach, describe, expect, test } from 'vitest'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { approved, newAgentShop } from '../support/scenes/approvals.js'
import { purchase } from '../support/scenes/catalog.js'
import { expectProblem, expectSoundLedger, pay } from '../support/scenes/market.js'
import { newAgent } from '../support/scenes/oidc.js'
import { ask, poll } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify } from '../support/scenes/sign-in.js'
import { send } from '../support/scenes/transfers.js'
import {
  balanceOf,
  newCommodity,
  newPayer,
  newSeller,
  newSession,
  newTwin,
  type Payer,
  tokenFor,
} from '../support/scenes/world.js'

const YEAR = 365 * 86_400_000
const NOW = Date.UTC(2026, 0, 1)

const started: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

/** A sandbox at a time of its own, and its clock. */
async function atNow(options: ServiceOptions = {}) {
  const service = createService({ sandbox: true, log: { error: () => {} }, ...options })
  started.push(service)
  await service.sandbox.setClock({ mode: 'manual' })
  const set = (time: number) => service.sandbox.setClock({ set: time })
  await set(NOW)
  const call: Call = caller({ url: service.baseUrl, fetch: service.fetch })
  return { service, call, set }
}

describe('When the clock was a year ahead and is corrected,', () => {
  test('access and refresh tokens of that year are not valid, and new ones are', async () => {
    const { call, set } = await atNow()
    const { clientId, clientSecret } = await newSeller(call)
    await set(NOW + YEAR)
    const headers = { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` }
    const pair = (await call('POST', '/v4/account/oauth/token', { headers })).body
    expect((await call('GET', '/v4/twins', { token: pair.access_token })).status).toBe(200)
    await set(NOW)
    expect((await call('GET', '/v4/twins', { token: pair.access_token })).status).toBe(401)
    expectProblem(
      await call('POST', '/v4/account/oauth/token', { token: pair.refresh_token }),
      401,
      'refresh_token_invalid',
    )
    const token = await tokenFor(call, clientId, clientSecret)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(200)
    // The tokens of the wrong year do not hide it: it is returned again.
    expect(await tokenFor(call, clientId, clientSecret)).toBe(token)
  })

  test('sessions of that year are not valid', async () => {
    const { call, set } = await atNow()
    await set(NOW + YEAR)
    const session = await newSession(call, 'ada@example.test')
    expect((await call('GET', '/v4/twins', { session })).status).toBe(200)
    await set(NOW)
    expect((await call('GET', '/v4/twins', { session })).status).toBe(401)
    const fresh = await newSession(call, 'ada@example.test')
    expect((await call('GET', '/v4/twins', { session: fresh })).status).toBe(200)
    expect((await call('GET', '/v4/sessions', { session: fresh })).body.sessions).toHaveLength(1)
  })

  test('sign-in codes of that year are not valid, and do not count against the limit', async () => {
    const { service, call, set } = await atNow()
    await set(NOW + YEAR)
    const guest = await newGuest(call)
    for (let each = 0; each < 5; each++) expect((await askCode(call, guest, 'ada@example.test')).status).toBe(202)
    expectProblem(await askCode(call, guest, 'ada@example.test'), 429, 'too_many_codes')
    await service.sandbox.advance(0)
    const code = await mailedCode(call, 'ada@example.test')
    await set(NOW)
    expectProblem(await verify(call, guest, 'ada@example.test', code), 410, 'code_expired')
    expect((await askCode(call, guest, 'ada@example.test')).status).toBe(202)
  })

  test('an approval of that year is expired, and its purchase waits for a new one', async () => {
    const { call, set } = await atNow()
    const shop = await newAgentShop(async () => ({ call }) as never)
    const order = { arguments: { city: 'Oslo', hours: 3 } }
    const wish = (await purchase(call, shop.agent, shop.item, order)).body.approval
    await set(shop.at + YEAR)
    const renewed = async ({ email, clientId, clientSecret }: Payer) => ({
      payer: { ...shop.payer, token: await tokenFor(call, clientId, clientSecret) },
      agent: { token: (await newAgent(call, { email })).accessToken },
    })
    const ahead = await renewed(shop.payer)
    const approval_id = await approved(call, ahead, wish)
    await set(shop.at)
    const { agent, payer } = await renewed(shop.payer)
    const { approvals } = (await call('GET', '/v4/approvals', { token: payer.token })).body
    expect(approvals).toMatchObject([{ approval_id, status: 'expired' }])
    expectProblem(await purchase(call, agent, shop.item, order), 403, 'approval_required')
  })

  test('a question to the second factor is expired, and a new one can be asked', async () => {
    const { call, set } = await atNow()
    const payer = await newPayer(call, await newSeller(call))
    await set(NOW + YEAR)
    const ahead = { ...payer, token: await tokenFor(call, payer.clientId, payer.clientSecret) }
    const { id } = (await ask(call, ahead)).body
    await set(NOW)
    const now = { ...payer, token: await tokenFor(call, payer.clientId, payer.clientSecret) }
    expect((await poll(call, now, id)).body.status).toBe('expired')
    expect((await ask(call, now)).status).toBeLessThan(300)
  })

  test('the nonce of a payment of that year proves nothing', async () => {
    const { call, set } = await atNow()
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller)
    const { hash } = await newCommodity(call, seller, { cost: 0 })
    await set(NOW + YEAR)
    const token = await tokenFor(call, payer.clientId, payer.clientSecret)
    const { nonce, timestamp } = await pay(call, { token }, { hash })
    await set(NOW)
    const own = await tokenFor(call, seller.clientId, seller.clientSecret)
    const validated = await call('POST', `/v4/payment/${hash}/validate`, { token: own, body: { nonce, timestamp } })
    expect(validated.body.code).toBe('nonce_expired')
  })

  test('the value of an invitation of that year comes back thirty days after the correction', async () => {
    const { service, call, set } = await atNow()
    const payer = await newPayer(call, await newSeller(call), { balance: 10 })
    await set(NOW + YEAR)
    const token = await tokenFor(call, payer.clientId, payer.clientSecret)
    expect((await send(call, { token }, { address: 'ada@example.test', amount: 4 })).status).toBe(201)
    await set(NOW)
    const balance = async () =>
      balanceOf(call, await tokenFor(call, payer.clientId, payer.clientSecret), payer.hostname)
    expect(await balance()).toBe(6)
    await service.sandbox.advance('29d')
    expect(await balance()).toBe(6)
    await service.sandbox.advance('2d')
    expect(await balance()).toBe(10)
    await expectSoundLedger(call)
  })

  test('a mail that could not be sent in that year is tried again within seconds', async () => {
    const sent: string[] = []
    let isDown = true
    const { service, call, set } = await atNow({
      mailer: {
        async send({ to }) {
          if (isDown) throw new Error('down')
          sent.push(to)
        },
      },
    })
    await set(NOW + YEAR)
    await askCode(call, await newGuest(call), 'ada@example.test')
    await service.sandbox.advance('2m')
    isDown = false
    await set(NOW)
    await service.sandbox.advance('3m')
    expect(sent).toEqual(['ada@example.test'])
  })
})

describe('When the clock falls back a year and is corrected,', () => {
  test('an invitation of before expires at its time', async () => {
    let time = NOW
    const { service, call } = await atNow({ clock: { now: () => time } })
    await service.sandbox.setClock({ mode: 'real' })
    const jump = async (to: number) => {
      time = to
      await service.sandbox.advance(0)
    }
    const payer = await newPayer(call, await newSeller(call), { balance: 10 })
    expect((await send(call, payer, { address: 'ada@example.test', amount: 4 })).status).toBe(201)
    const balance = async () =>
      balanceOf(call, await tokenFor(call, payer.clientId, payer.clientSecret), payer.hostname)
    await jump(NOW - YEAR)
    await jump(NOW + 86_400_000)
    expect(await balance()).toBe(6)
    await service.sandbox.advance('28d')
    expect(await balance()).toBe(6)
    await service.sandbox.advance('2d')
    expect(await balance()).toBe(10)
    await expectSoundLedger(call)
  })

  test('a token of before is valid again until it expires', async () => {
    const { call, set } = await atNow()
    const { token } = await newSeller(call)
    await set(NOW - YEAR)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(401)
    await set(NOW + 1000)
    expect((await call('GET', '/v4/twins', { token })).status).toBe(200)
  })
})

test('a token of a machine whose clock is half a minute ahead is valid', async () => {
  const { call, set } = await atNow()
  await set(NOW + 30_000)
  const seller = await newSeller(call)
  await set(NOW)
  await newTwin(call, seller.token)
})
