import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { setPhone } from '../../support/scenes/paywall.js'
import { registerDevice } from '../../support/scenes/second-factor.js'
import { newReader, newSeller, newSession, newUser, tokenFor } from '../../support/scenes/world.js'

/** A user's session, whose phone answers so. */
async function asking(call: Call, phone: string) {
  const payer = await newReader(call, await newSeller(call))
  const session = await newSession(call, payer.email)
  await registerDevice(call, { session })
  await setPhone(call, payer, phone)
  const make = (headers: Record<string, string> = {}) => call('POST', '/v4/user/secrets', { session, headers })
  const asked = () =>
    expect
      .poll(async () => {
        const { body } = await call('GET', '/v4/events?type=second_factor.requested', { token: payer.token })
        return body.events.length
      })
      .toBe(1)
  return { payer, make, asked }
}

contract('createUserSecrets', (start) => {
  it('POST /v4/user/secrets creates client credentials, which work next to the earlier ones', {
    tags: 'everywhere',
  }, async () => {
    const { call } = await start()
    const { token, id } = await newReader(call, await newSeller(call))
    const made = await call('POST', '/v4/user/secrets', { token })
    expect([made.status, made.body]).toEqual([
      201,
      {
        secrets: [
          {
            client_id: expect.stringMatching(/^mid_[0-9a-f]{32}$/),
            client_secret: expect.stringMatching(/^mc_[0-9a-f]{32}$/),
            created_at: expect.stringMatching(/^\d+$/),
            updated_at: expect.stringMatching(/^\d+$/),
            deleted_at: null,
          },
        ],
      },
    ])
    const [{ client_id, client_secret }] = made.body.secrets
    const next = await tokenFor(call, client_id, client_secret)
    const shown = async (by: string) => (await call('GET', `/v4/user/${id}`, { token: by })).body.secrets
    expect(await shown(next)).toContainEqual(made.body.secrets[0])
    expect(await shown(token)).toContainEqual({ ...made.body.secrets[0], client_secret: null })
  })

  it('waits in a session until its user approves on their phone', async () => {
    const { call, state } = await start()
    const { make } = await asking(call, 'approve')
    for (const asked of [1, 2]) {
      expect((await make()).status).toBe(201)
      const { messages } = (await call('GET', '/_sandbox/outbox?kind=push')).body
      expect(messages.map(({ data }: any) => data.action)).toEqual(Array(asked).fill('client_credentials'))
    }
    const spent = { spent_at: expect.any(Number) }
    expect((await state()).rows.authentication_requests).toMatchObject([spent, spent])
  })

  it('ends all credentials but the newest before them, and tells the user in their log and by mail', async () => {
    const { call } = await start()
    await stopClock(call)
    const { token, id, email, clientId } = await newReader(call, await newSeller(call))
    const make = async (caller: string) => {
      await advance(call, '1s')
      const [{ client_id, client_secret }] = (await call('POST', '/v4/user/secrets', { token: caller })).body.secrets
      return { id: client_id, token: await tokenFor(call, client_id, client_secret) }
    }
    const listed = async (caller: string) => {
      const { secrets } = (await call('GET', `/v4/user/${id}`, { token: caller })).body
      return Object.fromEntries(secrets.map(({ client_id, deleted_at }: any) => [client_id, deleted_at === null]))
    }
    const second = await make(token)
    expect(await listed(token)).toEqual({ [clientId]: true, [second.id]: true })
    expectProblem(await call('POST', '/v4/user/secrets', { token }), 403, 'wrong_principal')
    const third = await make(second.token)
    expectProblem(await call('GET', '/v4/twins', { token }), 401, 'token_invalid')
    expect(await listed(third.token)).toEqual({ [clientId]: false, [second.id]: true, [third.id]: true })
    const fourth = await make(third.token)
    expect(await listed(fourth.token)).toEqual({ [second.id]: false, [third.id]: true, [fourth.id]: true })

    const { events } = (await call('GET', '/v4/events?type=user.secrets_created', { token: fourth.token })).body
    const about = { actor: `user:${id}`, subject: `user:${id}` }
    expect(events).toMatchObject([
      { ...about, data: { client_id: fourth.id, ended_client_ids: [second.id] } },
      { ...about, data: { client_id: third.id, ended_client_ids: [clientId] } },
      { ...about, data: { client_id: second.id, ended_client_ids: [] } },
    ])
    const { messages } = (await call('GET', `/_sandbox/outbox?to=${email}&kind=mail&limit=3`)).body
    expect(messages.map(({ subject }: any) => subject)).toEqual(Array(3).fill('New client credentials for your wallet'))
    expect(messages[0].text).toMatch(new RegExp(`${fourth.id}.*\\n\\n.*If this was not you`))
  })

  it('mails nobody whose address is not proven', async () => {
    const {
      call,
      made: { token, email },
    } = await startWith(start, newUser)
    expect((await call('POST', '/v4/user/secrets', { token })).status).toBe(201)
    expect((await call('GET', `/_sandbox/outbox?to=${email}`)).body.messages).toEqual([])
  })

  it('creates none if the user rejects or does not answer in time', async () => {
    const { call } = await start()
    await stopClock(call)
    const { make, payer, asked } = await asking(call, 'ignore')
    const waiting = make()
    await asked()
    await advance(call, '2m')
    expectProblem(await waiting, 408, 'approval_timeout')
    await setPhone(call, payer, 'reject')
    await advance(call, '2s')
    expectProblem(await make(), 403, 'rejected')
    expect((await call('GET', `/v4/user/${payer.id}`, { token: payer.token })).body.secrets).toHaveLength(1)
  })

  it('is refused while the same or too many requests wait', async () => {
    const { call } = await start()
    await stopClock(call)
    const { make, payer, asked } = await asking(call, 'ignore')
    const keyed = { 'idempotency-key': 'once' }
    const waiting = make(keyed)
    await asked()
    expectProblem(await make(keyed), 409, 'idempotency_in_progress')
    for (let n = 0; n < 4; n++)
      await call('POST', '/v4/authentication-requests', { token: payer.token, body: { action: 'other', detail: {} } })
    expectProblem(await make(), 429, 'too_many_pending')
    await advance(call, '2m')
    expectProblem(await waiting, 408, 'approval_timeout')
  })
})
