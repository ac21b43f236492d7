import { expect, it } from 'vitest'
import type { Answer, Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { newItem, purchase } from '../../support/scenes/catalog.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { expectOAuthError, newAgent } from '../../support/scenes/oidc.js'
import { newGuest } from '../../support/scenes/sign-in.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { basic, newCommodity, newPayer, newSeller, newSession } from '../../support/scenes/world.js'

const upstream = useUpstream()

const OF_ACCOUNTS = 'Account tokens come from POST /v4/account/oauth/token.'
const OF_USERS = 'User tokens come from POST /v4/user/oauth/token.'
const OF_APPS = 'App tokens come from POST /v4/oidc/token.'

const SHOP = 'https://shop.example.test'

/** A token that nobody got. */
const UNKNOWN = `tqmt_${'0'.repeat(32)}`

const challengeOf = ({ headers }: Answer): string | null => headers.get('www-authenticate')

/** A seller, and a user of theirs with a token and a session. */
async function newPeople(call: Call) {
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 5 })
  return { seller, payer, session: await newSession(call, payer.email) }
}

/** The session that the page around an embed got from a signed-in user. */
async function newPage(call: Call) {
  const { seller, payer, session } = await newPeople(call)
  const { hash } = await newCommodity(call, seller)
  const { body } = await call('POST', '/v4/session/page', { session, body: { hash, origin: SHOP } })
  return { page: body.session_id as string, payer }
}

contract('a caller without credentials', (start) => {
  it.each([
    ['GET', '/v4/account', 'Send a Bearer access token.'],
    ['GET', '/v4/twins', 'Send a Bearer access token, or a session.'],
    ['GET', '/v4/sessions', 'Send a Bearer access token, or a session.'],
    ['GET', '/v4/twin/1', 'Send a Bearer access token, or a session, or `public_secret`.'],
    ['POST', '/v4/catalog/items/1/purchases', 'Send a Bearer access token, or a session, or `public_secret`.'],
    ['GET', '/v4/agent/account', 'Send the Bearer access token of an app that a user connected.'],
    ['POST', '/v3/paywall', 'Send a session.'],
  ])('learns at %s %s: %s', async (method, path, sentence) => {
    const { call } = await start()
    const answer = await call(method, path, method === 'POST' ? { body: {} } : {})
    expectProblem(answer, 401, 'authorization_missing')
    expect(answer.body.error).toBe(`Credentials are missing. ${sentence}`)
    expect(challengeOf(answer)).toBe('Bearer realm="farthing"')
  })
})

contract('client credentials', (start) => {
  it('are refused with what is wrong with them, if they are not base64', async () => {
    const { call } = await start()
    const answer = await call('POST', '/v4/account/oauth/token', { headers: { authorization: 'Basic %%%' } })
    expectProblem(answer, 401, 'client_unknown')
    expect(answer.body.error).toContain('The Basic credentials must be base64.')
  })
})

contract('an access token', (start) => {
  it('is read after the scheme in any case, with any number of spaces between them', async () => {
    const {
      call,
      made: { payer },
    } = await startWith(start, newPeople)
    for (const authorization of [`bearer ${payer.token}`, `BEARER ${payer.token}`, `Bearer   ${payer.token}`])
      expect((await call('GET', '/v4/twins', { headers: { authorization } })).status).toBe(200)
  })

  it('is not looked for in another scheme, nor between other words', async () => {
    const {
      call,
      made: { payer, session },
    } = await startWith(start, newPeople)
    for (const authorization of [
      `XBearer ${payer.token}`,
      `BearerX ${payer.token}`,
      `Bearer ${payer.token} x`,
      `x Bearer ${payer.token}`,
      payer.token,
      'Bearer',
    ]) {
      const answer = await call('GET', '/v4/twins', { session, headers: { authorization } })
      expectProblem(answer, 401, 'bearer_required')
      expect(answer.body.error).toContain(`${OF_ACCOUNTS} ${OF_USERS}`)
      expect(answer.body.error).not.toContain(OF_APPS)
      expect(challengeOf(answer)).toBe('Bearer realm="farthing"')
    }
  })

  it('that nobody got is refused with where each kind comes from', async () => {
    const { call } = await start()
    for (const [path, sources] of [
      ['/v4/twins', `${OF_ACCOUNTS} ${OF_USERS}`],
      ['/v4/account', OF_ACCOUNTS],
      ['/v4/transfer', `${OF_ACCOUNTS} ${OF_USERS} ${OF_APPS}`],
      ['/v4/agent/account', OF_APPS],
    ] as const) {
      const answer = await call(path === '/v4/transfer' ? 'POST' : 'GET', path, { token: UNKNOWN })
      expectProblem(answer, 401, 'token_invalid')
      expect(answer.body.error.slice(-sources.length)).toBe(sources)
      expect(answer.body.error.match(/tokens come from/g)).toHaveLength(sources.match(/tokens come from/g)?.length ?? 0)
      expect(challengeOf(answer)).toBe('Bearer realm="farthing", error="invalid_token"')
    }
  })

  it('that has expired is refused with where its owner gets the next one', async () => {
    const { call } = await start()
    await stopClock(call)
    const { seller, payer } = await newPeople(call)
    await advance(call, '61m')
    for (const [token, path, source, other] of [
      [payer.token, '/v4/twins', OF_USERS, OF_ACCOUNTS],
      [seller.token, '/v4/twins', OF_ACCOUNTS, OF_USERS],
      // A user gets no token for this one, so only an account's helps.
      [payer.token, '/v4/account', OF_ACCOUNTS, OF_USERS],
    ] as const) {
      const answer = await call('GET', path, { token })
      expectProblem(answer, 401, 'token_invalid')
      expect(answer.body.error).toContain(source)
      expect(answer.body.error).not.toContain(other)
    }
  })

  it('of the wrong owner is refused with whose it is, and what to send instead', async () => {
    const {
      call,
      made: { seller, payer },
    } = await startWith(start, newPeople)
    const refused = [
      await call('GET', '/v4/account', { token: payer.token }),
      await call('POST', '/v4/session', { token: seller.token }),
      await call('POST', '/v4/session/page', { token: payer.token, body: {} }),
    ]
    expect(refused.map(({ status, body }) => [status, body.code, body.error.replace(/^.*?\. /, '')])).toEqual([
      [403, 'not_an_account', `It is the token of a user. ${OF_ACCOUNTS}`],
      [403, 'wrong_principal', `It is the token of an account. ${OF_USERS}`],
      [403, 'wrong_principal', 'It is the token of a user. Send a session.'],
    ])
  })

  it("of an app does what its user allowed, in the user's name", async () => {
    const {
      call,
      made: { seller, payer, session },
    } = await startWith(start, newPeople)
    const item = await newItem(call, seller, { external_endpoint: `${upstream.url}/ok` })
    const bought = await purchase(call, { token: payer.token }, item, { arguments: { city: 'Oslo' } })
    expect(bought.status).toBe(201)
    const { accessToken } = await newAgent(call, { email: payer.email, session })
    const [own, shown] = [
      await call('GET', '/v4/purchases', { token: payer.token }),
      await call('GET', '/v4/purchases', { token: accessToken }),
    ]
    expect(own.body.purchases).toHaveLength(1)
    expect(shown.body).toEqual(own.body)
  })

  it('of an app is refused where no app may call', async () => {
    const {
      call,
      made: { accessToken: token },
    } = await startWith(start, newAgent)
    expectProblem(await call('GET', '/v4/twins', { token }), 403, 'wrong_principal')
    expectProblem(await call('GET', '/v4/account', { token }), 403, 'not_an_account')
  })

  it('of an app for another resource is refused with the one to request it for', async () => {
    const { call, url } = await start()
    const { accessToken: token } = await newAgent(call, { resource: `${url}/mcp` })
    const answer = await call('GET', '/v4/agent/account', { token })
    expectProblem(answer, 401, 'token_invalid')
    const sentence = `The token is only valid for ${url}/mcp. Request one at /v4/oidc/auth with \`resource\` ${url}.`
    expect(answer.body.error).toContain(sentence)
    expect(answer.body.error).not.toContain(OF_APPS)
    expect(challengeOf(answer)).toBe('Bearer realm="farthing", error="invalid_token"')
  })

  it("must be an app's where only apps may call", async () => {
    const {
      call,
      made: { seller, payer },
    } = await startWith(start, newPeople)
    for (const { token } of [seller, payer]) {
      const answer = await call('GET', '/v4/agent/account', { token })
      expectProblem(answer, 401, 'agent_token_required')
      expect(challengeOf(answer)).toBe('Bearer realm="farthing", error="invalid_token"')
    }
  })

  it('without the scope is refused with the scope that is missing', async () => {
    const {
      call,
      made: { accessToken: token },
    } = await startWith(start, newAgent, { scope: 'openid email' })
    const answer = await call('GET', '/v4/agent/account', { token })
    expectProblem(answer, 403, 'insufficient_scope')
    expect(challengeOf(answer)).toBe('Bearer realm="farthing", error="insufficient_scope", scope="twin"')
  })
})

contract('the access token in a form', (start) => {
  it('counts as one in the header, where an operation takes it', async () => {
    const {
      call,
      made: { accessToken },
    } = await startWith(start, newAgent, { email: 'ada@example.test' })
    const [inForm, inHeader] = [
      await call('POST', '/v4/oidc/me', { form: { access_token: accessToken } }),
      await call('POST', '/v4/oidc/me', { token: accessToken }),
    ]
    expect([inForm.status, inForm.body.email]).toEqual([200, 'ada@example.test'])
    expect(inForm.body).toEqual(inHeader.body)
  })

  it('is refused next to one in the header, and if it is no text', async () => {
    const {
      call,
      made: { accessToken: token },
    } = await startWith(start, newAgent)
    const both = await call('POST', '/v4/oidc/me', { token, form: { access_token: token } })
    expectOAuthError(both, 400, 'invalid_request')
    expect(both.body.error_description).toContain('not both')
    const number = await call('POST', '/v4/oidc/me', { body: { access_token: 5 } })
    expect([number.status, challengeOf(number)]).toEqual([401, 'Bearer realm="farthing"'])
  })
})

contract('a token at a public operation', (start) => {
  it('shows its account what is its own, and everybody else what is public', async () => {
    const {
      call,
      made: { seller, payer },
    } = await startWith(start, newPeople)
    const { id } = await newItem(call, seller, { private: true })
    const { accessToken } = await newAgent(call, { scope: 'openid email' })
    const read = async (token?: string) =>
      (await call('GET', `/v4/catalog/items/${id}`, { ...(token && { token }) })).status
    expect(await read(seller.token)).toBe(200)
    for (const other of [undefined, (await newSeller(call)).token, payer.token, accessToken])
      expect(await read(other)).toBe(404)
    expect(await read(UNKNOWN)).toBe(401)
  })

  it('is not read where no token counts', async () => {
    const { call } = await start()
    const { hash } = await newCommodity(call, await newSeller(call))
    for (const headers of [{ authorization: `Bearer ${UNKNOWN}` }, basic('x', 'y')])
      for (const path of [`/v4/commodity/${hash}`, '/v4/dq'])
        expect((await call('GET', path, { headers })).status).toBe(200)
  })

  it('does not stand in for a public_secret that no account has', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { hash } = await newCommodity(call, seller)
    const read = (secret: string) => call('GET', `/v4/commodity/${hash}?public_secret=${secret}`)
    expect((await read(seller.publicSecret)).status).toBe(200)
    expectProblem(await read('mp_0'), 401, 'public_secret_unknown')
  })
})

contract('several credentials at once', (start) => {
  it('count in this order: token, session header, public_secret, session cookie', { tags: 'everywhere' }, async () => {
    const {
      call,
      made: { seller, payer, session },
    } = await startWith(start, newPeople)
    const path = `/v4/twin/${payer.hostname}`
    const embed = `${path}?public_secret=${seller.publicSecret}`
    const cookie = { cookie: `session_id=${session}` }
    const seesKey = async (answer: Promise<Answer>) => {
      const { status, body } = await answer
      return status === 200 ? typeof body.key === 'string' : body.code
    }
    // Only its owner sees the twin's key, and the account of the page is not its owner.
    expect(await seesKey(call('GET', embed))).toBe('not_owner')
    const { hostname } = await newCommodity(call, seller)
    expect(await seesKey(call('GET', `/v4/twin/${hostname}?public_secret=${seller.publicSecret}`))).toBe(false)
    expect(await seesKey(call('GET', embed, { headers: cookie }))).toBe('not_owner')
    expect(await seesKey(call('GET', path, { headers: cookie }))).toBe(true)
    expect(await seesKey(call('GET', embed, { session }))).toBe(true)
    expect(await seesKey(call('GET', embed, { token: payer.token }))).toBe(true)
    expect(await seesKey(call('GET', embed, { token: seller.token, session }))).toBe('not_owner')
  })

  it('refuse a public_secret that is no text', async () => {
    const { call } = await start()
    const body = { public_secret: 5 }
    expectProblem(await call('POST', '/v4/catalog/items/1/purchases', { body }), 401, 'public_secret_unknown')
  })
})

contract('a session of a caller', (start) => {
  it('is issued and set as a cookie once, and then goes on', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const issued = await call('GET', '/v4/session')
    const session = issued.body.session_id as string
    expect(issued.headers.get('set-cookie')).toContain(session)
    const known = await call('GET', '/v4/session', { session })
    expect([known.body.session_id, known.headers.get('set-cookie')]).toEqual([session, null])
    const own = await newSession(call, 'ada@example.test')
    for (const path of ['/v4/session', '/v4/twins']) {
      const { headers } = await call('GET', path, { session: own })
      expect([headers.get('x-session-id'), headers.get('set-cookie')]).toEqual([own, null])
    }
    expect((await call('GET', '/v4/session', { session: own })).body.user.email).toBe('ada@example.test')
  })

  it('reads a user without their secrets, which only their token shows', async () => {
    const {
      call,
      made: { payer, session },
    } = await startWith(start, newPeople)
    const path = `/v4/user/${payer.id}`
    expect((await call('GET', path, { session })).body).not.toHaveProperty('secrets')
    expect((await call('GET', path, { token: payer.token })).body.secrets).toHaveLength(1)
  })

  it('is told that its id changed when its user signed in, and nothing like it otherwise', async () => {
    const { call, made: guest } = await startWith(start, newGuest)
    const refused = async () => {
      const answer = await call('GET', '/v4/twins', { session: guest })
      expectProblem(answer, 401, 'sign_in_required')
      return answer.body.error as string
    }
    expect(await refused()).not.toContain('changed')
    await newSession(call, 'ada@example.test', guest)
    expect(await refused()).toContain('The id of this session changed when its user signed in.')
  })
})

contract('the session of a page around an embed', (start) => {
  it('reads itself and asks the paywall, from its own origin or without one', async () => {
    const {
      call,
      made: { page, payer },
    } = await startWith(start, newPage)
    for (const headers of [{}, { origin: SHOP }]) {
      const own = await call('GET', '/v4/session', { session: page, headers })
      expect([own.body.session_id, own.body.user.id]).toEqual([page, payer.id])
      expect([own.headers.get('x-session-id'), own.headers.get('set-cookie')]).toEqual([page, null])
      for (const version of ['v3', 'v4'])
        expectProblem(
          await call('POST', `/${version}/paywall`, { session: page, headers, body: {} }),
          400,
          'field_invalid',
        )
    }
  })

  it('is refused from another origin, wherever it is accepted', async () => {
    const {
      call,
      made: { page },
    } = await startWith(start, newPage)
    const sent = { session: page, headers: { origin: 'https://other.example.test' } }
    expectProblem(await call('GET', '/v4/session', sent), 401, 'page_refused')
    expectProblem(await call('POST', '/v3/paywall', { ...sent, body: {} }), 401, 'page_refused')
  })

  it('is refused where users and guests are told apart, and is a guest where all are guests', async () => {
    const {
      call,
      made: { page },
    } = await startWith(start, newPage)
    const sent = { session: page, headers: { origin: SHOP } }
    expectProblem(await call('GET', '/v4/twins', sent), 403, 'wrong_principal')
    expectProblem(await call('POST', '/v4/carts', sent), 403, 'wrong_principal')
    const asked = await call('POST', '/v4/session/code', { ...sent, body: { email: 'eve@example.test' } })
    expect(asked.status).toBeLessThan(300)
  })
})
