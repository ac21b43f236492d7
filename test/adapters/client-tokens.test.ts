import { client, Refusal } from 'farthing/client'
import { describe, expect, it } from 'vitest'
import { clientShop, refusing, watch } from '../support/scenes/client-shop.js'

const TOKEN = 'POST /v4/account/oauth/token'

describe('the tokens of a client', () => {
  it('are fetched once for calls at the same time, and by every client of the same caller', async () => {
    const { service, user } = await clientShop()
    const { fetch, calls } = watch(service)
    const root = client(service, { fetch })
    await Promise.all([root.as(user).twins.list(), root.as(user).twins.list(), root.as({ ...user }).payments.list()])
    expect(calls().filter((call) => call === TOKEN)).toHaveLength(1)
  })

  it('are not fetched for what anybody may call', async () => {
    const { service, user } = await clientShop()
    const { fetch, passed } = watch(service)
    const ada = client(service, { fetch }).as(user)
    await ada.digitalQuantities.list()
    expect(passed.map(({ call, headers }) => [call, headers.get('authorization')])).toEqual([['GET /v4/dq', null]])
  })

  it('are refreshed once when they expire under many calls, and each call is repeated once', async () => {
    const { service, user } = await clientShop()
    const { fetch, passed, calls } = watch(service)
    const ada = client(service, { fetch }).as(user)
    await ada.twins.list()
    await service.sandbox.advance('2h')
    passed.length = 0
    await Promise.all(Array.from({ length: 5 }, () => ada.twins.list()))
    expect(calls().filter((call) => call === TOKEN)).toHaveLength(1)
    expect(passed.find(({ call }) => call === TOKEN)?.headers.get('authorization')).toMatch(/^Bearer /)
    expect(calls().filter((call) => call === 'GET /v4/twins')).toHaveLength(10)
  })

  it('come from the client credentials when the refresh token has expired too', async () => {
    const { service, user } = await clientShop()
    const { fetch, passed } = watch(service)
    const ada = client(service, { fetch }).as(user)
    await ada.twins.list()
    await service.sandbox.advance('25h')
    passed.length = 0
    await ada.twins.list()
    const schemes = passed
      .filter(({ call }) => call === TOKEN)
      .map(({ headers }) => headers.get('authorization')?.split(' ')[0])
    expect(schemes).toEqual(['Bearer', 'Basic'])
  })

  it('may be given, and are refreshed as long as there is a refresh token', async () => {
    const { service, user } = await clientShop()
    const pair = await client(service).as(user).userTokens.create()
    await service.sandbox.advance('2h')
    const { twins } = await client(service).as(pair).twins.list()
    expect(twins).toHaveLength(1)
    const used = client(service).as(pair).twins.list()
    await expect(used).rejects.toMatchObject({ code: 'refresh_token_invalid', status: 401 })
    const { access_token } = pair
    await expect(client(service).as({ access_token }).twins.list()).rejects.toMatchObject({ code: 'token_invalid' })
  })

  it('are not fetched again for a refusal that no token can change', async () => {
    const { service, account, user, hash } = await clientShop()
    const { fetch, calls } = watch(service)
    const ada = client(service, { fetch }).as(user)
    await expect(ada.agentAccounts.read()).rejects.toMatchObject({ code: 'agent_token_required' })
    await expect(ada.payments.validate(hash, { nonce: 'none' })).rejects.toMatchObject({ status: 403 })
    const wrong = client(service, { fetch }).as({ ...account, client_secret: `mc_${'0'.repeat(32)}` })
    await expect(wrong.accounts.read()).rejects.toMatchObject({
      code: 'client_unknown',
      operation: 'createAccountToken',
    })
    expect(calls().filter((call) => call === TOKEN)).toHaveLength(2)
  })

  it('are fetched again after a failed attempt', async () => {
    const { service, user } = await clientShop()
    let isDown = true
    const { fetch } = watch(service, async (_, send) => (isDown ? refusing(500, 'internal_error') : send()))
    const ada = client(service, { fetch }).as(user)
    await expect(ada.twins.list()).rejects.toBeInstanceOf(Refusal)
    isDown = false
    expect((await ada.twins.list()).twins).toHaveLength(1)
  })

  it('of one caller outlive the signal of another call that waits for them', async () => {
    const { service, user } = await clientShop()
    const { fetch, calls } = watch(service)
    const ada = client(service, { fetch }).as(user)
    const impatient = new AbortController()
    const left = ada.payments.list({}, { signal: impatient.signal }).then(String, String)
    const kept = ada.twins.list()
    const stays = kept.then(({ twins }) => twins.length)
    impatient.abort(new Error('too late'))
    expect(await left).toBe('Error: too late')
    expect(await stays).toBe(1)
    expect(calls()).toEqual([TOKEN, 'GET /v4/twins'])
  })
})

describe('a session', () => {
  it('is issued to a guest, who keeps it and signs in with a mailed code', async () => {
    const { service, user } = await clientShop()
    const guest = client(service).as('guest')
    await guest.sessionCodes.send({ email: user.email })
    const { messages } = await client(service).outbox.read({ to: user.email })
    const code = /\d{6}/.exec(JSON.stringify(messages[0]))?.[0] ?? ''
    const signedIn = await guest.sessionCodes.verify({ email: user.email, code })
    if ('request' in signedIn) throw new Error('she has no device that asks')
    expect(signedIn.user.email).toBe(user.email)
    expect((await guest.twins.list()).twins).toHaveLength(1)
    const elsewhere = client(service).as({ session_id: signedIn.session_id })
    expect((await elsewhere.twins.list()).twins).toHaveLength(1)
    await expect(client(service).as('guest').twins.list()).rejects.toMatchObject({ status: 401 })
  })
})
