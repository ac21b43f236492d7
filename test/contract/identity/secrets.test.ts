import { expect, it } from 'vitest'
import { collections } from '../../../src/collections.js'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { ask, mailedLink, registerDevice } from '../../support/scenes/second-factor.js'
import { askCode, mailedCode, newGuest, verify, wrongCode } from '../../support/scenes/sign-in.js'
import { basic, defaultDq, newCommodity, newPayer, newSeller } from '../../support/scenes/world.js'

/** Does everything that shows a secret, and gives all that were shown. */
async function tellSecrets(call: Call): Promise<Record<string, string>> {
  const seller = await newSeller(call)
  const pair = (await call('POST', '/v4/account/oauth/token', { headers: basic(seller.clientId, seller.clientSecret) }))
    .body
  const refreshed = (await call('POST', '/v4/user/oauth/token', { token: pair.refresh_token })).body
  const payer = await newPayer(call, seller, { balance: 5 })
  const registering = { dq: await defaultDq(call), email: 'eve@example.test' }
  const registered = (await call('POST', '/v4/account/register', { body: registering })).body
  const [payersTwin] = (await call('GET', '/v4/twins', { token: payer.token })).body.twins
  const twinNonce = await call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: payer.hostname } })

  const { hash } = await newCommodity(call, seller)
  const paying = { token: payer.token, headers: { 'idempotency-key': 'secret-key-of-the-caller' } }
  const payment = (await call('POST', `/v4/payment/${hash}`, paying)).body
  const validated = (await call('POST', `/v4/payment/${hash}`, { token: payer.token })).body
  await call('POST', `/v4/payment/${hash}/validate`, {
    token: seller.token,
    body: { nonce: validated.nonce, timestamp: validated.timestamp },
  })

  const guest = await newGuest(call)
  await askCode(call, guest, 'ada@example.test')
  const code = await mailedCode(call, 'ada@example.test')
  await verify(call, guest, 'ada@example.test', wrongCode(code))
  const session = (await verify(call, guest, 'ada@example.test', code)).body.session_id
  const ofToken = (await call('POST', '/v4/session', { token: payer.token })).body.session_id
  await ask(call, payer)
  const link = await mailedLink(call, payer.email)
  await registerDevice(call, payer, 'token-that-a-push-goes-to')
  await ask(call, payer)

  return {
    'client secret of an account': seller.clientSecret,
    'client secret of a registered account': registered.account.secrets[1].client_secret,
    'client secret of a user': payer.clientSecret,
    'access token of an account': pair.access_token,
    'refresh token that was used': pair.refresh_token,
    'access token that was refreshed': refreshed.access_token,
    'refresh token': refreshed.refresh_token,
    'access token of a user': payer.token,
    'key of a twin': payersTwin.key,
    'nonce of a twin': twinNonce.body.nonce,
    'nonce of a payment': payment.nonce,
    'nonce that was validated': validated.nonce,
    'session id of a guest': guest,
    'session id': session,
    'session id of a token': ofToken,
    'token of a mailed link': link.token,
    'token of a device': 'token-that-a-push-goes-to',
    'sign-in code': code,
  }
}

contract('the stored state', (start) => {
  it('contains no shown secret in plain text, including mails and their codes', async () => {
    const { call, state } = await start()
    const secrets = await tellSecrets(call)
    const { rows } = await state()
    // A code's six digits may stand in a number or a hash by chance, so they are looked for as whole values.
    const values = new Set(leaves(rows))
    const resting = JSON.stringify(rows)
    for (const [name, secret] of Object.entries(secrets)) {
      expect(values.has(secret), name).toBe(false)
      if (name === 'sign-in code') continue
      expect(resting.includes(secret), name).toBe(false)
      const [, hex = secret] = /^[a-z]+_([0-9a-f]{32})$/.exec(secret) ?? []
      expect(resting.includes(hex), `${name}, without its prefix`).toBe(false)
    }
    expect(resting).not.toContain('secret-key-of-the-caller')
  })

  it('uses only collections that every adapter knows', async () => {
    const { call, state } = await start()
    await tellSecrets(call)
    const known = collections.map(({ name }) => name)
    expect(Object.keys((await state()).rows).filter((name) => !known.includes(name))).toEqual([])
    expect(new Set(known).size).toBe(known.length)
  })

  it('secrets have the forms that clients expect', async () => {
    const { call } = await start()
    const secrets = await tellSecrets(call)
    for (const [name, secret] of Object.entries(secrets)) {
      if (name.startsWith('client secret')) expect(secret).toMatch(/^mc_[0-9a-f]{32}$/)
      if (/^(access|refresh) token/.test(name)) expect(secret).toMatch(/^tqmt_[0-9a-f]{32}$/)
      if (name.startsWith('nonce')) expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
    }
    expect(new Set(Object.values(secrets)).size).toBe(Object.keys(secrets).length)
  })
})

contract('a client secret', (start) => {
  it("of an account is shown only when it is created, and a user's only to the user", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    const both = [seller.clientSecret, payer.clientSecret]
    const shownTo = async (token: string, paths: string[]) => {
      const texts = await Promise.all(paths.map(async (path) => (await call('GET', path, { token })).text))
      return both.filter((secret) => texts.some((text) => text.includes(secret)))
    }
    const others = ['/v4/twins', '/v4/payments', '/v4/dq', '/v4/commodities', '/v2/users']
    const record = `/v4/user/${payer.id}?email=${payer.email}`
    expect(await shownTo(seller.token, ['/v4/account', record, ...others])).toEqual([])
    expect(await shownTo(payer.token, ['/v4/account', record, ...others])).toEqual([payer.clientSecret])
    const other = await newPayer(call, seller)
    expect(await shownTo(other.token, [record, ...others])).toEqual([])
  })
})

function leaves(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  return Object.values(value).flatMap(leaves)
}
