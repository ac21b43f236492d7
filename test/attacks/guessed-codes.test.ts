import { describe, expect, it } from 'vitest'
import type { Call } from '../support/api.js'
import { attacked } from '../support/scenes/attacked.js'
import { advance, expectProblem, stopClock } from '../support/scenes/market.js'
import { answerFromDevice, registerDevice } from '../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../support/scenes/sign-in.js'
import { newPayer, newReader, newSeller, newSession } from '../support/scenes/world.js'

const EMAIL = 'ada@example.test'
const start = attacked()

/** Guesses at as many codes as it gets, in sessions of its own, for some quarters of an hour. Returns how many guesses were checked. */
async function guess(call: Call, { quarters, session }: { quarters: number; session?: string }): Promise<number> {
  let checked = 0
  for (let quarter = 0; quarter < quarters; quarter++) {
    for (let code = 0; code < 6; code++) {
      const own = session ?? (await newGuest(call))
      if ((await askCode(call, own, EMAIL)).status !== 202) break
      const wrong = wrongCode(await mailedCode(call, EMAIL))
      for (let tries = 0; tries < 5; tries++) if ((await verify(call, own, EMAIL, wrong)).status === 401) checked++
    }
    await advance(call, '15m')
  }
  return checked
}

describe('guesses at the sign-in codes of an address', () => {
  it('are checked twenty times a day, from however many sessions', async () => {
    const { call } = await start()
    await stopClock(call)
    expect(await guess(call, { quarters: 3 })).toBe(20)
    await advance(call, '23h')
    expect(await guess(call, { quarters: 1 })).toBe(0)
    await advance(call, '1h')
    expect(await guess(call, { quarters: 1 })).toBe(20)
  })

  it('stop nobody who signed in by a code in this session before', async () => {
    const { call } = await start()
    await stopClock(call)
    await newPayer(call, await newSeller(call), { email: EMAIL })
    const session = await newSession(call, EMAIL)
    expect(await guess(call, { quarters: 1 })).toBe(20)
    expectProblem(await askCode(call, await newGuest(call), EMAIL), 429, 'too_many_tries')
    // Also after the session has expired.
    for (const wait of ['1s', '24h']) {
      await advance(call, wait)
      await guess(call, { quarters: 1 })
      expect((await askCode(call, session, EMAIL)).status).toBe(202)
    }
    expect((await verify(call, session, EMAIL, await mailedCode(call, EMAIL))).status).toBe(200)
  })

  it('do not become more with sessions that a token of the user makes', async () => {
    const { call } = await start()
    await stopClock(call)
    const { token } = await newPayer(call, await newSeller(call), { email: EMAIL })
    const made = async () => (await call('POST', '/v4/session', { token })).body.session_id as string
    const sessions = [await made(), await made(), await made()]
    let checked = 0
    for (const session of sessions) checked += await guess(call, { quarters: 1, session })
    expect(checked).toBe(20)
  })

  it('are limited in a session of the user too', async () => {
    const { call } = await start()
    await stopClock(call)
    await newPayer(call, await newSeller(call), { email: EMAIL })
    expect(await guess(call, { quarters: 3, session: await newSession(call, EMAIL) })).toBe(20)
  })

  it('do not stop a right code that waits for the device of its user', async () => {
    const { call } = await start()
    await stopClock(call)
    const payer = await newReader(call, await newSeller(call), { email: EMAIL })
    await registerDevice(call, { token: payer.token })
    const own = await newGuest(call)
    await askCode(call, own, EMAIL)
    const code = await mailedCode(call, EMAIL)
    const { request } = (await verify(call, own, EMAIL, code)).body
    for (let n = 0; n < 4; n++) {
      const stranger = await newGuest(call)
      await askCode(call, stranger, EMAIL)
      const wrong = wrongCode(await mailedCode(call, EMAIL))
      for (let tries = 0; tries < 5; tries++) await verify(call, stranger, EMAIL, wrong)
    }
    await answerFromDevice(call, { token: payer.token }, { id: request.id })
    const body = { email: EMAIL, code, request_id: request.id }
    expect((await call('POST', '/v4/session/verify', { session: own, body })).status).toBe(200)
  })
})
