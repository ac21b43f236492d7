import { describe, expect, it } from 'vitest'
import { caller } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, stopClock, UNKNOWN_DQ } from '../../support/scenes/market.js'
import {
  basic,
  defaultDq,
  newPayer,
  newSeller,
  newSession,
  newTwin,
  newUser,
  tokenFor,
} from '../../support/scenes/world.js'
import { startFailing } from '../../support/storage/failing-storage.js'

const hex = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]{32}$`))
const digits = expect.stringMatching(/^\d{10}$/)

contract('createAccount', (start) => {
  it.each(['v4', 'v2'])(
    'POST /%s/account takes no body and answers 201 with the four fields that clients map',
    async (version) => {
      const { call } = await start()
      const { status, body } = await call('POST', `/${version}/account`)
      expect(status).toBe(201)
      expect(body).toEqual({
        id: expect.any(Number),
        created_at: digits,
        updated_at: digits,
        secrets: [
          { public_secret: hex('mp'), created_at: digits, updated_at: digits },
          { client_id: hex('mid'), client_secret: hex('mc'), created_at: digits, updated_at: digits },
        ],
      })
    },
  )

  it('ignores any body', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    for (const raw of ['', '{', 'name=x', '[]'])
      expect((await call('POST', '/v4/account', { raw, headers: { 'content-type': 'text/plain' } })).status).toBe(201)
  })

  it('creates a new account with new credentials every time', async () => {
    const { call } = await start()
    const made = [await call('POST', '/v4/account'), await call('POST', '/v2/account')].map(({ body }) => body)
    expect(new Set(made.map(({ id }) => id)).size).toBe(2)
    expect(new Set(made.flatMap(({ secrets }) => [secrets[0].public_secret, secrets[1].client_id])).size).toBe(4)
  })

  it("shows the service's time in seconds", async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const { body } = await call('POST', '/v4/account')
    expect(body.created_at).toBe(String(at / 1000))
    expect(body.updated_at).toBe(String(at / 1000))
  })

  it.each(['/v4/account', '/v2/account'])(
    '4.1 rule 1: POST %s is 403 if creation is off, and creates nothing',
    { tags: 'everywhere' },
    async (path) => {
      const { call, state } = await start({ accountCreation: false })
      const before = (await state()).rows
      expectProblem(await call('POST', path), 403, 'account_creation_refused')
      expect((await state()).rows).toEqual(before)
    },
  )
})

contract('readAccount', (start) => {
  it('GET /v4/account shows the account, its names and both secrets, without the client secret', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { status, body, text } = await call('GET', '/v4/account', { token: seller.token })
    expect(status).toBe(200)
    expect(body).toEqual({
      id: seller.id,
      name: null,
      businessName: null,
      created_at: digits,
      updated_at: digits,
      secrets: [
        { public_secret: seller.publicSecret, created_at: digits, updated_at: digits },
        { client_id: seller.clientId, client_secret: null, created_at: digits, updated_at: digits },
      ],
    })
    expect(text).not.toContain(seller.clientSecret)
  })

  it("4.1 rule 2: a user's token does not identify an account: 403", async () => {
    const { call, made: payer } = await startWith(start, newUser)
    expectProblem(await call('GET', '/v4/account', { token: payer.token }), 403, 'not_an_account')
  })

  it('accepts only an access token', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const missing = await call('GET', '/v4/account')
    expectProblem(missing, 401, 'authorization_missing')
    expect(missing.headers.get('www-authenticate')).toMatch(/^Bearer/)
    const withBasic = await call('GET', '/v4/account', { headers: basic(seller.clientId, seller.clientSecret) })
    expectProblem(withBasic, 401, 'bearer_required')
    expectProblem(await call('GET', '/v4/account', { token: `tqmt_${'0'.repeat(32)}` }), 401, 'token_invalid')
    expectProblem(await call('GET', '/v4/account', { token: seller.clientSecret }), 401, 'token_invalid')
  })
})

contract('updateAccount', (start) => {
  it('PUT /v4/account sets both names and answers with integer times', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const seller = await newSeller(call)
    await advance(call, '90s')
    const body = { name: 'Ada', businessName: 'Ada & Söhne 🧮' }
    const answer = await call('PUT', '/v4/account', { token: seller.token, body })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ id: seller.id, ...body, created_at: at / 1000, updated_at: at / 1000 + 90 })
    expect((await call('GET', '/v4/account', { token: seller.token })).body).toMatchObject({
      ...body,
      created_at: String(at / 1000),
      updated_at: String(at / 1000 + 90),
    })
  })

  it("is in the account's log, after its creation", async () => {
    const {
      call,
      made: { id, token },
    } = await startWith(start, newSeller)
    await call('PUT', '/v4/account', { token, body: { name: 'Ada' } })
    const { events } = (await call('GET', '/v4/events', { token })).body
    const about = { actor: `account:${id}`, subject: `account:${id}` }
    expect(events.filter(({ type }: { type: string }) => type.startsWith('account.'))).toMatchObject([
      { type: 'account.updated', ...about, data: { name: 'Ada', businessName: null } },
      { type: 'account.created', ...about, data: {} },
    ])
  })

  it('4.1 rule 3: a missing name stays, null clears it', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const put = async (body: object) => {
      const { name, businessName } = (await call('PUT', '/v4/account', { token, body })).body
      return [name, businessName]
    }
    expect(await put({ name: 'N', businessName: 'B' })).toEqual(['N', 'B'])
    expect(await put({ name: 'M' })).toEqual(['M', 'B'])
    expect(await put({ businessName: null })).toEqual(['M', null])
    expect(await put({ name: null, businessName: 'C' })).toEqual([null, 'C'])
    expect(await put({ name: '' })).toEqual(['', 'C'])
  })

  it('4.1 rule 3: neither name is 400, and changes nothing', async () => {
    const {
      call,
      state,
      made: { token },
    } = await startWith(start, newSeller)
    await call('PUT', '/v4/account', { token, body: { name: 'N' } })
    const before = (await state()).rows
    for (const options of [{ body: {} }, { body: { Name: 'x', business_name: 'y' } }, {}])
      expectProblem(await call('PUT', '/v4/account', { token, ...options }), 400, 'field_invalid')
    expect((await state()).rows).toEqual(before)
  })

  it.each(['name', 'businessName'])(
    '4.1 rule 3: a %s that is neither string nor null is 400, and changes nothing',
    async (field) => {
      const {
        call,
        state,
        made: { token },
      } = await startWith(start, newSeller)
      const before = (await state()).rows
      for (const wrong of [1, true, [], ['x'], {}, { toString: 'x' }]) {
        const answer = await call('PUT', '/v4/account', {
          token,
          body: { name: 'N', businessName: 'B', [field]: wrong },
        })
        expectProblem(answer, 400, 'field_invalid')
        expect(answer.body.field).toBe(field)
        expect(answer.body.error).toContain(`"${field}"`)
      }
      expect((await state()).rows).toEqual(before)
    },
  )

  it('takes names of up to 255 characters', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    expect((await call('PUT', '/v4/account', { token, body: { name: 'n'.repeat(255) } })).status).toBe(200)
    const tooLong = await call('PUT', '/v4/account', { token, body: { name: 'n'.repeat(256) } })
    expectProblem(tooLong, 400, 'field_invalid')
    expect(tooLong.body.error).toContain('at most 255 characters')
  })

  it("4.1 rule 3: a user's token is 403, and changes nothing", async () => {
    const { call, state, made: payer } = await startWith(start, newUser)
    const before = (await state()).rows
    expectProblem(await call('PUT', '/v4/account', { token: payer.token, body: { name: 'x' } }), 403, 'not_an_account')
    expect((await state()).rows).toEqual(before)
  })
})

contract('registerAccount', (start) => {
  it('4.1 rule 8: creates account, primary twin and user at once, and shows no user credentials and no twin key', async () => {
    const { call } = await start()
    const dq = await defaultDq(call)
    const { status, body } = await call('POST', '/v4/account/register', { body: { dq, email: 'ada@example.test' } })
    expect(status).toBe(201)
    expect(body).toEqual({
      account: {
        id: expect.any(Number),
        created_at: digits,
        updated_at: digits,
        secrets: [
          { public_secret: hex('mp'), created_at: digits, updated_at: digits },
          { client_id: hex('mid'), client_secret: hex('mc'), created_at: digits, updated_at: digits },
        ],
      },
      twin: { id: expect.any(Number), hostname: expect.any(String), key: null, balances: { [dq]: 0 } },
      user: {
        id: expect.any(Number),
        email: 'ada@example.test',
        created_at: digits,
        updated_at: digits,
        deleted_at: null,
        is_android: false,
        is_ios: false,
      },
    })
  })

  it("4.1 rule 8: GET /v4/twins shows the twin's key with the new client credentials", async () => {
    const { call } = await start()
    const { body } = await call('POST', '/v4/account/register', {
      body: { dq: await defaultDq(call), email: 'ada@example.test' },
    })
    const [, { client_id, client_secret }] = body.account.secrets
    const token = await tokenFor(call, client_id, client_secret)
    const { twins } = (await call('GET', '/v4/twins', { token })).body
    expect(twins).toEqual([{ ...body.twin, key: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/) }])
  })

  it('4.1 rule 8: the user signs in with an emailed code', async () => {
    const { call } = await start()
    const dq = await defaultDq(call)
    const { user } = (await call('POST', '/v4/account/register', { body: { dq, email: 'ada@example.test' } })).body
    const session = await newSession(call, 'ada@example.test')
    // The proof of the email is a change of the user.
    const signedIn = { ...user, updated_at: expect.any(String) }
    expect((await call('GET', '/v4/session', { session })).body.user).toEqual(signedIn)
  })

  it('the twin uses the named digital quantity', async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] } })
    const [first, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    const body = { dq: points, email: 'ada@example.test' }
    expect((await call('POST', '/v4/account/register', { body })).body.twin.balances).toEqual({ [points]: 0 })
    const session = await newSession(call, 'ada@example.test')
    const own = (await call('GET', '/v4/twins', { session })).body.twins
    expect(own.map(({ balances }: { balances: object }) => balances)).toEqual([{ [first]: 0 }])
  })

  it.each([
    ['dq', { email: 'ada@example.test' }],
    ['email', { dq: UNKNOWN_DQ }],
    ['dq', {}],
    ['dq', { dq: null, email: 'ada@example.test' }],
    ['dq', { dq: 7, email: 'ada@example.test' }],
    ['email', { dq: UNKNOWN_DQ, email: 'not an address' }],
    ['email', { dq: UNKNOWN_DQ, email: 'a@b' }],
    ['email', { dq: UNKNOWN_DQ, email: 'a@example.test\r\nBcc: b@example.test' }],
    ['email', { dq: UNKNOWN_DQ, email: 'a\u0001@example.test' }],
    ['email', { dq: UNKNOWN_DQ, email: `${'a'.repeat(254)}@example.test` }],
  ])('4.1 rule 8: a missing or wrong %s is 400 and names the field: %j', async (field, body) => {
    const { call, state } = await start()
    const before = (await state()).rows
    const answer = await call('POST', '/v4/account/register', { body })
    expectProblem(answer, 400, 'field_invalid')
    expect(answer.body.field).toBe(field)
    expect((await state()).rows).toEqual(before)
  })

  it('an unknown digital quantity is 400, and nothing is created', async () => {
    const { call, state } = await start()
    const before = (await state()).rows
    const body = { dq: UNKNOWN_DQ, email: 'ada@example.test' }
    expectProblem(await call('POST', '/v4/account/register', { body }), 400, 'dq_unknown')
    expect((await state()).rows).toEqual(before)
  })

  it.each(['ada@example.test', ' ADA@Example.TEST '])(
    '4.1 rule 8: an email that has a user is 409, and nothing is created: "%s"',
    async (email) => {
      const { call, state } = await start()
      const dq = await defaultDq(call)
      await newPayer(call, await newSeller(call), { email: 'ada@example.test' })
      const before = (await state()).rows
      expectProblem(await call('POST', '/v4/account/register', { body: { dq, email } }), 409, 'email_taken')
      expect((await state()).rows).toEqual(before)
    },
  )

  it('two calls at once with one email create one', async () => {
    const { call } = await start()
    const body = { dq: await defaultDq(call), email: 'ada@example.test' }
    const both = await Promise.all([1, 2].map(() => call('POST', '/v4/account/register', { body })))
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
  })

  it('is 403 if creation is off, and nothing is created', async () => {
    const { call, state } = await start({ accountCreation: false })
    const body = { dq: await defaultDq(call), email: 'ada@example.test' }
    const before = (await state()).rows
    expectProblem(await call('POST', '/v4/account/register', { body }), 403, 'account_creation_refused')
    expect((await state()).rows).toEqual(before)
  })
})

contract('an account', (start) => {
  it('sees only its own things, and those of others as if absent', async () => {
    const { call } = await start()
    const [one, other] = [await newSeller(call), await newSeller(call)]
    const twin = await newTwin(call, one.token)
    const theirs = await call('GET', `/v4/twin/${twin.id}`, { token: other.token })
    const absent = await call('GET', '/v4/twin/999999', { token: other.token })
    expectProblem(theirs, 404, 'not_found')
    expect(theirs.text).toBe(absent.text)
  })
})

describe('when the storage cannot write', () => {
  it.each([
    ['4.1 rule 1: POST /v4/account', '/v4/account', 'account_creation_failed'],
    ['4.1 rule 1: POST /v2/account', '/v2/account', 'account_creation_failed'],
    ['4.1 rule 8: POST /v4/account/register', '/v4/account/register', 'provisioning_failed'],
  ] as const)('%s is 500, creates nothing and does not show the cause', async (_, path, code) => {
    const { storage, logged, ...running } = startFailing()
    const call = caller(running)
    const body = { dq: await defaultDq(call), email: 'ada@example.test' }
    const before = (await storage.export()).rows
    storage.failing = 'writes'
    const answer = await call('POST', path, { body })
    expectProblem(answer, 500, code)
    expect(Object.keys(answer.body).sort()).toEqual(['code', 'docs', 'error', 'status'])
    expect(answer.text).not.toMatch(/disk|private/)
    expect(logged).toHaveLength(1)
    expect((await storage.export()).rows).toEqual(before)

    storage.failing = 'nothing'
    expect((await call('POST', path, { body })).status).toBe(201)
  })
})
