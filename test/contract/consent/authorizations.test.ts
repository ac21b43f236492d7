import { expect, it } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared } from '../../support/contract/prepared.js'
import { advance, expectProblem, readPages, stopClock } from '../../support/scenes/market.js'
import { answerFromDevice, ask, poll, registerDevice, secondFactorEvents } from '../../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession, newUser, type Payer } from '../../support/scenes/world.js'

const PATHS = ['/v4/paywall/authorizations', '/v3/paywall/authorizations'] as const
const DETAIL = { merchant_url: 'https://shop.example.test/', merchant_name: 'A shop', dq: '41ab', amount: 0.5 }

const world = (start: Start) => asker(start, undefined)

const asker = prepared(async (call) => ({ at: await stopClock(call), payer: await newUser(call) }))

/** Gives the id of a new request of a paywall. */
const askToPay = async (call: Call, payer: Payer, detail: object = DETAIL): Promise<number> =>
  (await ask(call, payer, { action: 'paywall', detail })).body.id

const list = async (call: Call, { token }: Payer, path: string = PATHS[0]) =>
  (await call('GET', path, { token })).body.authorizations

const answer = (call: Call, { token }: Payer, body: object, path: string = PATHS[0]) =>
  call('PUT', path, { token, body })

const withdraw = (call: Call, { token }: Payer, authorizationId: number, path: string = PATHS[0]) =>
  call('DELETE', path, { token, body: { authorizationId } })

contract('listAuthorizations', (start) => {
  it.each(PATHS)("GET %s lists the user's paywall requests in the shape that existing clients expect", async (path) => {
    const { call, at, payer } = await world(start)
    const id = await askToPay(call, payer)
    expect(await list(call, payer, path)).toEqual([
      {
        id,
        merchant_url: 'https://shop.example.test/',
        merchant_name: 'A shop',
        payment_type_hash: '41ab',
        status: 'pending',
        authorized_at: null,
        expires_at: at / 1000 + 30,
        created_at: at / 1000,
        metadata: { ...DETAIL, requestedAt: at },
      },
    ])
  })

  it('shows no other requests and nothing of other users, and null for unknown values', async () => {
    const { call, payer } = await world(start)
    const eve = await newPayer(call, await newSeller(call))
    await ask(call, payer)
    const id = await askToPay(call, payer, { merchant_url: 1 })
    expect(await list(call, payer)).toEqual([
      expect.objectContaining({ id, merchant_url: null, merchant_name: null, payment_type_hash: null }),
    ])
    expect(await list(call, eve)).toEqual([])
  })

  it('shows the outcome of each', async () => {
    const { call, at, payer } = await world(start)
    await registerDevice(call, payer)
    const [approved, denied] = [await askToPay(call, payer), await askToPay(call, payer)]
    await advance(call, '5s')
    await answerFromDevice(call, payer, { id: approved })
    await answerFromDevice(call, payer, { id: denied, verb: 'reject' })
    const expired = await askToPay(call, payer)
    await advance(call, '30s')
    const pending = await askToPay(call, payer)
    const shown = (await list(call, payer)).map((each: Record<string, unknown>) => [
      each.id,
      each.status,
      each.authorized_at,
    ])
    expect(shown).toEqual([
      [pending, 'pending', null],
      [expired, 'expired', null],
      [denied, 'denied', null],
      [approved, 'approved', at / 1000 + 5],
    ])
  })

  it('pages through them, newest first', async () => {
    const { call, payer } = await world(start)
    const ids = []
    for (let n = 0; n < 3; n++) ids.unshift(await askToPay(call, payer))
    const pages = await readPages(call, PATHS[0], { plural: 'authorizations', token: payer.token, limit: 2 })
    expect(pages.map((page) => page.length)).toEqual([2, 1])
    expect(pages.flat().map(({ id }) => id)).toEqual(ids)
    const other = (await ask(call, payer)).body.id
    for (const after of [999_999, other])
      expectProblem(await call('GET', `${PATHS[0]}?after=${after}`, { token: payer.token }), 400, 'cursor_invalid')
  })
})

contract('answerAuthorization', (start) => {
  it.each(PATHS.flatMap((path) => [true, false].map((approved) => [path, approved] as const)))(
    'PUT %s, approved: %s, is the answer',
    async (path, approved) => {
      const { call, payer } = await world(start)
      const id = await askToPay(call, payer)
      const { status, body } = await answer(call, payer, { authorizationId: id, approved }, path)
      expect([status, body]).toEqual([
        200,
        {
          success: true,
          authorizationId: id,
          status: approved ? 'approved' : 'denied',
          message: `The payment is ${approved ? 'approved' : 'denied'}.`,
        },
      ])
      expect((await poll(call, payer, id)).body.status).toBe(approved ? 'approved' : 'rejected')
      expect((await secondFactorEvents(call, payer.token)).at(-1)).toEqual([
        approved ? 'approved' : 'rejected',
        'token',
      ])
    },
  )

  it('takes the id as digits too, and repeats it as it was sent', async () => {
    const { call, payer } = await world(start)
    const id = await askToPay(call, payer)
    const { status, body } = await answer(call, payer, { authorizationId: `${id}`, approved: true })
    expect([status, body.authorizationId]).toEqual([200, `${id}`])
    const waiting = await askToPay(call, payer)
    for (const authorizationId of [
      '',
      'x',
      `${waiting}.0`,
      ` ${waiting}`,
      `${waiting} `,
      `-${waiting}`,
      '9'.repeat(40),
    ])
      expectProblem(await answer(call, payer, { authorizationId, approved: true }), 404, 'not_found')
    expect([400, 404]).toContain((await answer(call, payer, { authorizationId: 1e300, approved: true })).status)
    expect((await poll(call, payer, waiting)).body.status).toBe('pending')
    expectProblem(await answer(call, payer, { approved: true }), 400, 'field_invalid')
    expectProblem(await call('DELETE', PATHS[0], { token: payer.token, body: {} }), 400, 'field_invalid')
  })

  it('a second or a late answer is 400', async () => {
    const { call, payer } = await world(start)
    const [first, late] = [await askToPay(call, payer), await askToPay(call, payer)]
    await answer(call, payer, { authorizationId: first, approved: false })
    expectProblem(await answer(call, payer, { authorizationId: first, approved: true }), 400, 'authorization_answered')
    await advance(call, '30s')
    expectProblem(await answer(call, payer, { authorizationId: late, approved: true }), 400, 'authorization_expired')
    expect((await list(call, payer)).map(({ status }: { status: string }) => status)).toEqual(['expired', 'denied'])
  })

  it("another user's request and requests of other kinds are 404, because a sign-in needs a registered device", async () => {
    const { call, payer } = await world(start)
    const eve = await newPayer(call, await newSeller(call))
    const id = await askToPay(call, payer)
    const signIn = (await ask(call, payer, { action: 'sign_in' })).body.id
    expectProblem(await answer(call, eve, { authorizationId: id, approved: true }), 404, 'not_found')
    for (const each of [signIn, 999_999]) {
      expectProblem(await answer(call, payer, { authorizationId: each, approved: true }), 404, 'not_found')
      expectProblem(await withdraw(call, payer, each), 404, 'not_found')
    }
    for (const each of [id, signIn]) expect((await poll(call, payer, each)).body.status).toBe('pending')
  })

  it('takes no session, because a page could answer its own request', async () => {
    const { call, payer } = await world(start)
    const session = await newSession(call, payer.email)
    const { id } = (await ask(call, { session }, { action: 'paywall' })).body
    for (const [method, body] of [
      ['GET', undefined],
      ['PUT', { authorizationId: id, approved: true }],
      ['DELETE', { authorizationId: id }],
    ] as const)
      expectProblem(await call(method, PATHS[0], { session, ...(body && { body }) }), 401, 'authorization_missing')
  })
})

contract('deleteAuthorization', (start) => {
  it.each(PATHS)(
    'DELETE %s deletes a pending request, or an approved one that is not used yet',
    { tags: 'everywhere' },
    async (path) => {
      const { call, payer } = await world(start)
      const [pending, approved] = [await askToPay(call, payer), await askToPay(call, payer)]
      await answer(call, payer, { authorizationId: approved, approved: true })
      for (const id of [pending, approved]) {
        const { status, body } = await withdraw(call, payer, id, path)
        expect([status, body]).toEqual([200, { success: true, message: 'The authorization is revoked.' }])
        expect((await poll(call, payer, id)).body.status).toBe('rejected')
        expect((await secondFactorEvents(call, payer.token)).at(-1)).toEqual(['rejected', 'token'])
        expectProblem(await withdraw(call, payer, id, path), 400, 'authorization_answered')
      }
    },
  )

  it('is 404 for other users, and 400 after the request expired', async () => {
    const { call, payer } = await world(start)
    const eve = await newPayer(call, await newSeller(call))
    const id = await askToPay(call, payer)
    expectProblem(await withdraw(call, eve, id), 404, 'not_found')
    await advance(call, '30s')
    expectProblem(await withdraw(call, payer, id), 400, 'authorization_expired')
    expect((await list(call, payer))[0].status).toBe('expired')
  })
})
