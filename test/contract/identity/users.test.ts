import { expect, it } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { expectProblem, stopClock } from '../../support/scenes/market.js'
import { defaultDq, newPayer, newSeller, newSession, newUser, tokenFor } from '../../support/scenes/world.js'

const hex = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))

const create = (call: Call, token: string, email: string, path = '/v4/user'): Promise<Answer> =>
  call('POST', path, { token, body: { email } })

contract('createUser', (start) => {
  it.each(['/v4/user', '/v3/user'])('POST %s creates a user and shows their client credentials', async (path) => {
    const { call } = await start()
    const at = String((await stopClock(call)) / 1000)
    const { token } = await newSeller(call)
    const { status, body } = await create(call, token, 'ada@example.test', path)
    expect(status).toBe(201)
    const times = { created_at: at, updated_at: at, deleted_at: null }
    expect(body).toEqual({
      id: expect.any(Number),
      email: 'ada@example.test',
      ...times,
      is_android: false,
      is_ios: false,
      secrets: [{ client_id: hex('mid'), client_secret: hex('mc'), ...times }],
    })
  })

  it("the credentials obtain the user's tokens", async () => {
    const { call } = await start()
    const { body } = await create(call, (await newSeller(call)).token, 'ada@example.test')
    const token = await tokenFor(call, body.secrets[0].client_id, body.secrets[0].client_secret)
    expect((await call('GET', `/v4/user/${body.id}`, { token })).body).toEqual(body)
  })

  it("creates the user's primary twin in the service's first digital quantity", async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS' }] } })
    const { token } = await newPayer(call, await newSeller(call))
    const { twins } = (await call('GET', '/v4/twins', { token })).body
    expect(twins).toHaveLength(1)
    expect(twins[0].balances).toEqual({ [await defaultDq(call)]: 0 })
  })

  it('stores the email trimmed and in lower case', async () => {
    const { call } = await start()
    expect((await create(call, (await newSeller(call)).token, '  Ada@Example.TEST ')).body.email).toBe(
      'ada@example.test',
    )
  })

  it.each(['ada@example.test', 'ADA@example.test'])(
    'an email that has a user is 409, and nothing is created: %s',
    async (email) => {
      const {
        call,
        state,
        made: { token },
      } = await startWith(start, newSeller)
      await create(call, token, 'ada@example.test')
      const before = (await state()).rows
      expectProblem(await create(call, token, email), 409, 'email_taken')
      expectProblem(await create(call, (await newSeller(call)).token, email), 409, 'email_taken')
      expect((await state()).rows.users).toEqual(before.users)
      expect((await state()).rows.twins).toEqual(before.twins)
    },
  )

  it('many calls at once with one email create one', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const answers = await Promise.all([1, 2, 3, 4].map(() => create(call, token, 'ada@example.test')))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
  })

  it.each([
    {},
    { email: null },
    { email: 5 },
    { email: ['ada@example.test'] },
    { email: '' },
    { email: 'ada' },
    { email: 'a b@example.test' },
  ])('requires an email address: %j is 400 and names the field', async (body) => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    const before = (await state()).rows
    const answer = await call('POST', '/v4/user', { token, body })
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe('email')
    expect((await state()).rows).toEqual(before)
  })

  it("is for accounts: a user's token is 403", async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newUser)
    expectProblem(await create(call, token, 'eve@example.test'), 403, 'not_an_account')
  })
})

contract('readUser', (start) => {
  it.each(['/v4/user', '/v2/user'])('GET %s/{user_id} shows users their own record, with its secrets', async (path) => {
    const { call, made: payer } = await startWith(start, newUser)
    const { status, body } = await call('GET', `${path}/${payer.id}`, { token: payer.token })
    expect(status).toBe(200)
    expect(body).toMatchObject({
      id: payer.id,
      email: payer.email,
      secrets: [{ client_id: payer.clientId, client_secret: payer.clientSecret }],
    })
  })

  it('shows it to their sessions too, without the secrets', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    const { status, body } = await call('GET', `/v4/user/${payer.id}`, { session })
    expect([status, body.email]).toEqual([200, payer.email])
    expect(body).not.toHaveProperty('secrets')
  })

  it.each(['account', 'user'])(
    "shows another user's record, without secrets, to an %s with the right email",
    async (kind) => {
      const { call, made: seller } = await startWith(start, newSeller)
      const payer = await newPayer(call, seller)
      const { token } = kind === 'account' ? seller : await newPayer(call, seller)
      for (const email of [payer.email, payer.email.toUpperCase()]) {
        const { status, body } = await call('GET', `/v4/user/${payer.id}?email=${encodeURIComponent(email)}`, { token })
        expect(status).toBe(200)
        expect(body.email).toBe(payer.email)
        expect(body).not.toHaveProperty('secrets')
      }
    },
  )

  it("another user's record without the right email is the same 404 as an absent one", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const payer = await newPayer(call, seller)
    const absent = await call('GET', '/v4/user/999999', { token: seller.token })
    expectProblem(absent, 404, 'not_found')
    for (const path of [
      `${payer.id}`,
      `${payer.id}?email=eve@example.test`,
      `${payer.id}?email=`,
      `999999?email=${payer.email}`,
    ])
      expect((await call('GET', `/v4/user/${path}`, { token: seller.token })).text).toBe(absent.text)
  })

  it.each(['me', '1x', '-1', '0', '1.5', '%31%00', '99999999999999999999'])('an invalid id is 404: %s', async (id) => {
    const { call } = await start()
    expectProblem(await call('GET', `/v4/user/${id}`, { token: (await newSeller(call)).token }), 404, 'not_found')
  })

  it('an id with a percent-escape that is not UTF-8 is 400', async () => {
    const { call } = await start()
    expectProblem(await call('GET', '/v4/user/%ff', { token: (await newSeller(call)).token }), 400, 'path_malformed')
  })
})

contract('listUsers', (start) => {
  it('GET /v2/users lists the users that the account created, newest first, without secrets', {
    tags: 'everywhere',
  }, async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const made = [await newPayer(call, seller), await newPayer(call, seller)]
    await newPayer(call, await newSeller(call))
    const { status, body } = await call('GET', '/v2/users', { token: seller.token })
    expect(status).toBe(200)
    expect(body.users.map(({ id }: { id: number }) => id)).toEqual(made.map(({ id }) => id).reverse())
    expect(body.next).toBeNull()
    for (const user of body.users) expect(user).not.toHaveProperty('secrets')
  })

  it('has pages: `next` is the next cursor, and null on the last page', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const ids = []
    for (let i = 0; i < 5; i++) ids.unshift((await newPayer(call, seller)).id)
    const seen = []
    let after = ''
    for (let page = 0; page < 3; page++) {
      const { body } = await call('GET', `/v2/users?limit=2${after}`, { token: seller.token })
      seen.push(body.users.map(({ id }: { id: number }) => id))
      after = `&after=${body.next}`
    }
    expect(seen).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
    expect(after).toBe('&after=null')
  })

  it('shows all of them unless it asks for a page', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    for (let i = 0; i < 21; i++) await create(call, token, `user-${i}@example.test`)
    const { body } = await call('GET', '/v2/users', { token })
    expect(body.users).toHaveLength(21)
    expect(body.next).toBeNull()
  })

  it.each(['0', '101', '-1', '1.5', 'ten', ''])(
    'accepts a limit from 1 to 100: %j is 400 and names it',
    async (limit) => {
      const { call } = await start()
      const answer = await call('GET', `/v2/users?limit=${limit}`, { token: (await newSeller(call)).token })
      expectProblem(answer, 400, 'field_invalid')
      expect(answer.body.field).toBe('limit')
    },
  )

  it('an unknown `after` is 400', async () => {
    const { call, made: theirs } = await startWith(start, newUser)
    const { token } = await newSeller(call)
    for (const after of [theirs.id, 999999, 0, -5])
      expectProblem(await call('GET', `/v2/users?after=${after}`, { token }), 400, 'cursor_invalid')
  })

  it("is for accounts: a user's token is 403", async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newUser)
    expectProblem(await call('GET', '/v2/users', { token }), 403, 'not_an_account')
  })
})
