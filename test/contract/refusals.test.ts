import { describe, expect, it, vi } from 'vitest'
import type { Auth, Route } from '../../src/http/route.js'
import { createService } from '../../src/index.js'
import type { ProblemCode } from '../../src/problem.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { contract, type Started } from '../support/contract.js'
import { startFailing } from '../support/failing-storage.js'
import { expectProblem } from '../support/market.js'
import { newAgent } from '../support/oidc.js'
import { type Operation, operations } from '../support/operations.js'
import { samplesOf, wrongValuesOf } from '../support/samples.js'
import { newGuest } from '../support/sign-in.js'
import { basic, newPayer, newSeller, newSession } from '../support/world.js'

/** What the frame refuses, it refuses for every operation: these tests ask all of them. */

const takes =
  (...kinds: Auth[]) =>
  (operation: Operation) =>
    operation.route.auth.some((kind) => kinds.includes(kind))
const built = operations.filter(({ route }) => route.status !== 501)
const withBody = built.filter(({ route }) => route.body !== undefined)
const json = { 'content-type': 'application/json' }

interface Callers {
  account: CallOptions
  user: CallOptions
  agent: CallOptions
  guest: CallOptions
  session: CallOptions
  client: CallOptions
}

async function newCallers(call: Call): Promise<Callers> {
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller)
  return {
    account: { token: seller.token },
    user: { token: payer.token },
    agent: { token: (await newAgent(call)).accessToken },
    guest: { session: await newGuest(call) },
    session: { session: await newSession(call, payer.email) },
    client: { headers: basic(seller.clientId, seller.clientSecret) },
  }
}

/** What a route accepts as credentials. */
function acceptedBy({ auth }: Route, callers: Callers): CallOptions {
  const kind = (['account', 'user', 'agent', 'session', 'guest', 'client'] as const).find((each) => auth.includes(each))
  return kind === undefined ? {} : callers[kind]
}

/** Calls every one of some operations, which must all refuse, and leave everything at rest as it was. */
async function allRefuse(
  { call, state }: Pick<Started, 'call' | 'state'>,
  asked: readonly Operation[],
  [status, code]: readonly [number, ProblemCode],
  options: (operation: Operation) => CallOptions,
): Promise<void> {
  expect(asked.length).toBeGreaterThan(0)
  const before = (await state()).rows
  for (const operation of asked) {
    const answer = await call(operation.route.method, operation.absent, options(operation))
    expect([operation.route.id, answer.status, answer.body?.code]).toEqual([operation.route.id, status, code])
  }
  expect((await state()).rows).toEqual(before)
}

const merged = (one: CallOptions, other: CallOptions): CallOptions => ({
  ...one,
  ...other,
  headers: { ...one.headers, ...other.headers },
})

// Each operation, and each field of it, is some calls more.
vi.setConfig({ testTimeout: 60_000 })

contract('every operation with a body', (start) => {
  it('refuses one that is not JSON, or not an object, or not UTF-8: 400 body_malformed', async () => {
    const started = await start()
    const callers = await newCallers(started.call)
    const malformed = [
      '{',
      '{"a":1,}',
      'nothing',
      ' ',
      '[]',
      '[{"email":"ada@example.test"}]',
      '"text"',
      '1',
      'null',
      'true',
      '{}{}',
      '\u0000',
      '{"a":"\u0000"}',
    ]
    for (const raw of malformed)
      await allRefuse(started, withBody, [400, 'body_malformed'], ({ route }) =>
        merged(acceptedBy(route, callers), { raw, headers: json }),
      )
  })

  it('refuses one larger than the limit: 413 body_too_large', async () => {
    const started = await start({ limits: { bodyBytes: 1000, snapshotBytes: 1000 } })
    const callers = await newCallers(started.call)
    const raw = JSON.stringify({ unknown: 'x'.repeat(1000) })
    await allRefuse(started, withBody, [413, 'body_too_large'], ({ route }) =>
      merged(acceptedBy(route, callers), { raw, headers: json }),
    )
  })

  it.each([
    'text/plain',
    'text/json',
    'application/xml',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    'application/json, text/plain',
    'nonsense',
    '',
  ])('refuses the Content-Type "%s": 415 content_type_refused', async (type) => {
    const started = await start()
    const callers = await newCallers(started.call)
    // A Request given text for its body names a type itself; given bytes it does not.
    const headers = type === '' ? {} : { 'content-type': type }
    await allRefuse(started, withBody, [415, 'content_type_refused'], ({ route }) =>
      merged(acceptedBy(route, callers), { raw: new TextEncoder().encode('{}'), headers }),
    )
  })

  it('refuses every field of another type, and names it: 400 field_invalid', async () => {
    const { call, state } = await start()
    const callers = await newCallers(call)
    const before = (await state()).rows
    for (const { route, absent } of withBody) {
      const body = route.body as NonNullable<Route['body']>
      const right = samplesOf(body)
      const refuse = async (field: string, wrong: unknown) => {
        const sent = { ...right, [field]: wrong }
        const answer = await call(route.method, absent, merged(acceptedBy(route, callers), { body: sent }))
        const named = (answer.body.field as string).split('.')[0]
        expect([route.id, answer.status, answer.body.code, named]).toEqual([route.id, 400, 'field_invalid', field])
        expect(sentenceOf(answer)).toContain(`"${field}`)
      }
      const attempts = Object.entries(body.shape).map(([field, schema]) =>
        Promise.all(wrongValuesOf(schema).map((wrong) => refuse(field, wrong))),
      )
      await Promise.all(attempts)
    }
    expect((await state()).rows).toEqual(before)
  })

  it('refuses to do without a field that it needs, and names it: 400 field_invalid', async () => {
    const { call, state } = await start()
    const callers = await newCallers(call)
    const before = (await state()).rows
    for (const { route, absent } of withBody) {
      const body = route.body as NonNullable<Route['body']>
      for (const field of Object.keys(body.shape)) {
        const { [field]: _, ...rest } = samplesOf(body)
        if (body.safeParse(rest).success) continue
        const answer = await call(route.method, absent, merged(acceptedBy(route, callers), { body: rest }))
        expect([route.id, answer.status, answer.body.field]).toEqual([route.id, 400, field])
        expect(sentenceOf(answer)).toContain(`"${field}" is missing: it must be`)
      }
    }
    expect((await state()).rows).toEqual(before)
  })
})

contract('every operation with a query', (start) => {
  it('refuses a field that is given twice, and names it: 400 field_invalid', async () => {
    const { call } = await start()
    const callers = await newCallers(call)
    for (const { route, absent } of built) {
      const [field] = Object.keys(route.query?.shape ?? {})
      if (field === undefined) continue
      const answer = await call(route.method, `${absent}?${field}=1&${field}=1`, acceptedBy(route, callers))
      expect([route.id, answer.status, answer.body.field]).toEqual([route.id, 400, field])
    }
  })
})

contract('every operation with a name in its path', (start) => {
  it('refuses a percent-escape that is not UTF-8: 400 path_malformed', async () => {
    const { call } = await start()
    const callers = await newCallers(call)
    for (const { route, path } of built.filter((operation) => operation.route.params)) {
      const answer = await call(route.method, path.replace(/:\w+/g, '%ff'), acceptedBy(route, callers))
      expectProblem(answer, 400, 'path_malformed')
    }
  })
})

contract('every operation that asks who is calling', (start) => {
  const asksForToken = built.filter(takes('account', 'user'))
  // Where everybody may call, nobody is forbidden to.
  const judged = asksForToken.filter((operation) => !takes('none')(operation))
  const forbiddenTo = (kind: 'account' | 'user') => judged.filter(({ route }) => !route.auth.includes(kind))

  it('refuses a caller who sends nothing: 401 authorization_missing, with a challenge', async () => {
    const started = await start()
    const asked = asksForToken.filter((operation) => !takes('guest', 'none')(operation))
    await allRefuse(started, asked, [401, 'authorization_missing'], ({ route }) => ({ ...sampleOf(route) }))
    for (const { route, absent } of asked)
      expect((await started.call(route.method, absent, sampleOf(route))).headers.get('www-authenticate')).toMatch(
        /^Bearer/,
      )
  })

  it('refuses client credentials and other schemes: 401 bearer_required', async () => {
    const started = await start()
    const { client } = await newCallers(started.call)
    for (const headers of [client.headers ?? {}, { authorization: 'Bearer' }, { authorization: 'Token x' }])
      await allRefuse(started, asksForToken, [401, 'bearer_required'], ({ route }) =>
        merged(sampleOf(route), { headers }),
      )
  })

  it('refuses a token that is unknown: 401 token_invalid', async () => {
    const started = await start()
    for (const token of [`tqmt_${'0'.repeat(32)}`, 'x', "'or'1=1--", '\u00e9'])
      await allRefuse(started, asksForToken, [401, 'token_invalid'], ({ route }) => merged(sampleOf(route), { token }))
  })

  it("refuses a user's token where only accounts may call: 403 not_an_account", async () => {
    const started = await start()
    const { user } = await newCallers(started.call)
    await allRefuse(started, forbiddenTo('user'), [403, 'not_an_account'], ({ route }) => merged(sampleOf(route), user))
  })

  it("refuses an account's token where only users may call: 403 wrong_principal", async () => {
    const started = await start()
    const { account } = await newCallers(started.call)
    await allRefuse(started, forbiddenTo('account'), [403, 'wrong_principal'], ({ route }) =>
      merged(sampleOf(route), account),
    )
  })

  it("refuses an agent's token where no agent may call: 403", async () => {
    const started = await start()
    const { agent } = await newCallers(started.call)
    const withoutAgents = judged.filter(({ route }) => !route.auth.includes('agent'))
    const [accounts, others] = [withoutAgents.filter(onlyAccounts), withoutAgents.filter((each) => !onlyAccounts(each))]
    await allRefuse(started, accounts, [403, 'not_an_account'], ({ route }) => merged(sampleOf(route), agent))
    await allRefuse(started, others, [403, 'wrong_principal'], ({ route }) => merged(sampleOf(route), agent))
  })

  it('where only agents may call, another token is no authentication: 401 agent_token_required', async () => {
    const started = await start()
    const { account, user } = await newCallers(started.call)
    const asked = built.filter(({ route }) => route.auth.every((kind) => kind === 'agent'))
    for (const { token } of [account, user])
      await allRefuse(started, asked, [401, 'agent_token_required'], () => ({ token: token as string }))
    await allRefuse(started, asked, [401, 'authorization_missing'], () => ({}))
    await allRefuse(started, asked, [401, 'bearer_required'], () => ({ headers: { authorization: 'Basic x' } }))
    for (const token of ['x', 'e30.e30.e30', `tqmt_${'0'.repeat(32)}`])
      await allRefuse(started, asked, [401, 'token_invalid'], () => ({ token }))
  })

  it('refuses a session that is not signed in: 401 sign_in_required', async () => {
    const started = await start()
    const { guest } = await newCallers(started.call)
    await allRefuse(started, built.filter(takes('session')), [401, 'sign_in_required'], ({ route }) =>
      merged(sampleOf(route), guest),
    )
  })

  it('refuses a session that cookie and header disagree on: 401 session_conflict', async () => {
    const started = await start()
    const { guest, session } = await newCallers(started.call)
    const headers = { cookie: `session_id=${guest.session}` }
    await allRefuse(started, built.filter(takes('session', 'guest')), [401, 'session_conflict'], ({ route }) =>
      merged(sampleOf(route), { ...session, headers }),
    )
  })

  it("refuses to change anything for another origin's cookie: 403 cross_site", async () => {
    const started = await start()
    const { session } = await newCallers(started.call)
    const headers = { cookie: `session_id=${session.session}`, origin: 'https://shop.example.test' }
    const changing = built.filter(takes('session', 'guest')).filter(({ route }) => route.method !== 'GET')
    await allRefuse(started, changing, [403, 'cross_site'], ({ route }) => merged(sampleOf(route), { headers }))
  })

  it('refuses a public_secret that no account has: 401 public_secret_unknown', async () => {
    const { call } = await start()
    for (const { route, absent } of built.filter(takes('embed')))
      for (const public_secret of [`mp_${'0'.repeat(32)}`, '', 'x']) {
        const sent = route.body ? { body: { ...samplesOf(route.body), public_secret } } : {}
        const path = route.body ? absent : `${absent}?public_secret=${public_secret}`
        expectProblem(await call(route.method, path, sent), 401, 'public_secret_unknown')
      }
  })
})

contract('every operation that exchanges credentials', (start) => {
  it('refuses none, others, unknown ones and used ones', async () => {
    const started = await start()
    const asked = built.filter(takes('client', 'refresh'))
    for (const [status, code, authorization] of [
      [401, 'credentials_missing', undefined],
      [401, 'client_unknown', `Basic ${btoa('mid_0:mc_0')}`],
      [401, 'refresh_token_invalid', 'Bearer tqmt_0'],
      [403, 'scheme_refused', 'Negotiate x'],
    ] as const)
      await allRefuse(started, asked, [status, code], () => ({ ...(authorization && { headers: { authorization } }) }))
  })
})

contract('every operation that takes an Idempotency-Key', (start) => {
  it('refuses one that is not 1 to 255 printable ASCII characters: 400 idempotency_key_invalid', async () => {
    const started = await start()
    const callers = await newCallers(started.call)
    const keyed = built.filter(({ route }) => route.idempotent)
    for (const key of ['', 'é', 'a\tb', 'k'.repeat(256)])
      await allRefuse(started, keyed, [400, 'idempotency_key_invalid'], ({ route }) =>
        merged(merged(sampleOf(route), acceptedBy(route, callers)), { headers: { 'idempotency-key': key } }),
      )
  })
})

contract('every control of the sandbox', (start) => {
  it('refuses pages of another origin: 403 sandbox_refused', async () => {
    const started = await start()
    const controls = built.filter(({ route }) => route.scope === 'sandbox')
    for (const origin of ['https://shop.example.test', 'null', 'http://localhost.example.test'])
      await allRefuse(started, controls, [403, 'sandbox_refused'], ({ route }) =>
        merged(sampleOf(route), { headers: { origin } }),
      )
  })
})

describe('every operation whose query may come as a body', () => {
  it('refuses that as any body', async () => {
    const service = createService({ sandbox: true, limits: { bodyBytes: 1000 } })
    const url = 'http://127.0.0.1:4242'
    const callers = await newCallers(caller({ url, fetch: service.fetch }))
    const asked = built.filter(({ route }) => route.queryInBody)
    expect(asked.length).toBeGreaterThan(0)
    for (const [body, type, status, code] of [
      ['{', 'application/json', 400, 'body_malformed'],
      ['{}', 'text/plain', 415, 'content_type_refused'],
      ['x'.repeat(1001), 'application/json', 413, 'body_too_large'],
    ] as const) {
      // As a runtime hands it over: a Request can carry no body with a GET.
      const bytes = async (limit: number) => (body.length > limit ? undefined : new TextEncoder().encode(body))
      const call = caller({ url, fetch: (request) => service.fetch(request, { body: bytes }) })
      const headers = { 'content-type': type }
      for (const { route, absent } of asked)
        expectProblem(await call(route.method, absent, merged(acceptedBy(route, callers), { headers })), status, code)
    }
  })
})

describe('every control of the sandbox, in a service without one', () => {
  it('is not there: 404 no_such_path', async () => {
    const call = caller({ url: 'http://127.0.0.1:4242', fetch: createService().fetch })
    for (const { route, absent } of operations.filter((operation) => operation.route.scope === 'sandbox'))
      expectProblem(await call(route.method, absent, sampleOf(route)), 404, 'no_such_path')
  })
})

describe('every operation, where the storage fails', () => {
  it('is a bare 500 by the name that it declares, nothing of the cause is shown, and all is well when that is over', async () => {
    const { storage, logged, ...running } = startFailing()
    const call = caller(running)
    const callers = await newCallers(call)
    const before = await storage.export()
    storage.failing = 'all'
    for (const { route, absent } of operations) {
      logged.length = 0
      const answer = await call(route.method, absent, merged(sampleOf(route), acceptedBy(route, callers)))
      expect([route.id, answer.status, answer.body.code]).toEqual([route.id, 500, route.failure ?? 'internal_error'])
      expect(
        Object.keys(answer.body)
          .filter((name) => name !== 'error_description')
          .sort(),
      ).toEqual(['code', 'error', 'status'])
      expect(answer.text).not.toMatch(/disk|private/)
      expect(logged).toHaveLength(1)
    }
    storage.failing = 'nothing'
    expect(await storage.export()).toEqual(before)
    for (const { route, absent } of operations)
      expect((await call(route.method, absent, acceptedBy(route, callers))).status, route.id).not.toBe(500)
  })
})

describe('a service whose storage fails when it starts', () => {
  it('answers 500 as any other, and starts with the next call once that is over', async () => {
    const { storage, logged, service, url } = startFailing()
    storage.failing = 'all'
    const headers = { origin: 'https://shop.example.test' }
    const response = await service.fetch(new Request(`${url}/v4/dq`, { headers }))
    expect([response.status, (await response.json()).code]).toEqual([500, 'internal_error'])
    expect(response.headers.get('access-control-allow-origin')).toBe(headers.origin)
    expect(logged).toHaveLength(1)
    storage.failing = 'nothing'
    const call = caller({ url, fetch: service.fetch })
    expect((await call('GET', '/v4/dq')).body.digital_quantities).toHaveLength(1)
  })
})

const onlyAccounts = ({ route }: Operation): boolean => route.auth.every((kind) => kind === 'account')

/** What people read of a refusal: OAuth's own errors have it beside their word. */
const sentenceOf = ({ body }: Answer): string => body.error_description ?? body.error

/** A body that the route's schema takes, where it has one, without what would say who is calling. */
function sampleOf({ body }: Route): CallOptions {
  if (!body) return {}
  const { public_secret: _, ...fields } = samplesOf(body)
  return { body: fields }
}
