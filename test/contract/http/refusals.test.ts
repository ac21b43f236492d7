import { expect, it, vi } from 'vitest'
import { problemSentence } from '../../../src/base/problem.js'
import type { Route } from '../../../src/http/route.js'
import { contract } from '../../support/contract/contract.js'
import {
  acceptedBy,
  allRefuse,
  bodyOfType,
  built,
  forAll,
  json,
  merged,
  newCallers,
  onlyAccounts,
  otherTypes,
  sampleOf,
  sentenceOf,
  takes,
  withBody,
} from '../../support/contract/refusals.js'
import { samplesOf, wrongValuesOf } from '../../support/contract/samples.js'
import { settledRows } from '../../support/contract/settled.js'
import { expectProblem } from '../../support/scenes/market.js'

/** What the frame refuses, it refuses for every operation: these tests ask all of them. */

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
    // Each operation is asked with some of them, and each of them is met by many.
    for (let turn = 0; turn < 2; turn++)
      await allRefuse(started, withBody, [400, 'body_malformed'], (operation) => {
        const raw = malformed[(withBody.indexOf(operation) + turn) % malformed.length] as string
        return merged(acceptedBy(operation.route, callers), { raw, headers: json })
      })
  })

  it('refuses one larger than the limit: 413 body_too_large', async () => {
    const started = await start({ limits: { bodyBytes: 1000, snapshotBytes: 1000 } })
    const callers = await newCallers(started.call)
    const raw = JSON.stringify({ unknown: 'x'.repeat(1000) })
    await allRefuse(started, withBody, [413, 'body_too_large'], ({ route }) =>
      merged(acceptedBy(route, callers), { raw, headers: json }),
    )
  })

  it('refuses a body of any other Content-Type: 415 content_type_refused', {
    tags: ['everywhere', 'pages', 'worker'],
  }, async () => {
    const started = await start()
    const callers = await newCallers(started.call)
    // Each type is asked of two operations here, in each runtime, and of all in refusals-once.test.ts in `npm run test:all`.
    const some = withBody.slice(0, 2 * otherTypes.length)
    await allRefuse(started, some, [415, 'content_type_refused'], (operation) => {
      const type = otherTypes[some.indexOf(operation) % otherTypes.length] as string
      return merged(acceptedBy(operation.route, callers), bodyOfType(type))
    })
  })

  it('refuses every field of a wrong type and names it: 400 field_invalid', async () => {
    const { call, state } = await start()
    const callers = await newCallers(call)
    const before = await settledRows(state)
    await forAll(withBody, async ({ route, absent }) => {
      const body = route.body as NonNullable<Route['body']>
      const right = samplesOf(body)
      const refuse = async (field: string, wrong: unknown) => {
        const sent = { ...right, [field]: wrong }
        const answer = await call(route.method, absent, merged(acceptedBy(route, callers), { body: sent }))
        const named = (answer.body.field as string).split('.')[0]
        expect([route.id, answer.status, answer.body.code, named]).toEqual([route.id, 400, 'field_invalid', field])
        expect(sentenceOf(answer)).toContain(`"${field}`)
      }
      // One of the wrong values for each field here, and more in refusals-once.test.ts.
      const attempts = Object.entries(body.shape).map(([field, schema], index) => {
        const wrong = wrongValuesOf(schema)
        return refuse(field, wrong[(withBody.length + index) % wrong.length])
      })
      await Promise.all(attempts)
    })
    expect(await settledRows(state)).toEqual(before)
  })

  it('refuses a missing required field and names it: 400 field_invalid', async () => {
    const { call, state } = await start()
    const callers = await newCallers(call)
    const before = await settledRows(state)
    await forAll(withBody, async ({ route, absent }) => {
      const body = route.body as NonNullable<Route['body']>
      for (const field of Object.keys(body.shape)) {
        const { [field]: _, ...rest } = samplesOf(body)
        const issues = body.safeParse(rest).error?.issues ?? []
        if (!issues.some(({ path: [first] }) => first === field)) continue
        const answer = await call(route.method, absent, merged(acceptedBy(route, callers), { body: rest }))
        expect([route.id, answer.status, answer.body.field]).toEqual([route.id, 400, field])
        expect(sentenceOf(answer)).toContain(`"${field}" is missing: it must be`)
      }
    })
    expect(await settledRows(state)).toEqual(before)
  })
})

contract('every operation with a query', (start) => {
  it('refuses a repeated field and names it: 400 field_invalid', async () => {
    const { call } = await start()
    const callers = await newCallers(call)
    await forAll(built, async ({ route, absent }) => {
      const [field] = Object.keys(route.query?.shape ?? {})
      if (field === undefined) return
      const answer = await call(route.method, `${absent}?${field}=1&${field}=1`, acceptedBy(route, callers))
      expect([route.id, answer.status, answer.body.field]).toEqual([route.id, 400, field])
    })
  })
})

contract('every operation with a name in its path', (start) => {
  it('refuses a percent-escape that is not UTF-8: 400 path_malformed', async () => {
    const { call } = await start()
    const callers = await newCallers(call)
    await forAll(
      built.filter((operation) => operation.route.params),
      async ({ route, path }) => {
        const answer = await call(route.method, path.replace(/:\w+/g, '%ff'), acceptedBy(route, callers))
        expectProblem(answer, 400, 'path_malformed')
      },
    )
  })
})

contract('every operation that authenticates its caller', (start) => {
  const asksForToken = built.filter(takes('account', 'user'))
  /** A token in place of a session is checked too. */
  const checksToken = built.filter(takes('account', 'user', 'session'))
  // Where everybody may call, nobody is forbidden to.
  const judged = asksForToken.filter((operation) => !takes('none')(operation))
  const forbiddenTo = (kind: 'account' | 'user') => judged.filter(({ route }) => !route.auth.includes(kind))

  it('refuses a caller who sends nothing: 401 authorization_missing, with a challenge', async () => {
    const started = await start()
    const asked = asksForToken.filter((operation) => !takes('guest', 'none')(operation))
    await allRefuse(started, asked, [401, 'authorization_missing'], ({ route }) => ({ ...sampleOf(route) }))
    await forAll(asked, async ({ route, absent }) => {
      const { headers, body } = await started.call(route.method, absent, sampleOf(route))
      expect(headers.get('www-authenticate')).toMatch(/^Bearer/)
      const ways = body.error.replace(problemSentence('authorization_missing'), '')
      expect([route.id, / a session/.test(ways)]).toEqual([route.id, route.auth.includes('session')])
    })
  })

  it('refuses client credentials and other schemes: 401 bearer_required', async () => {
    const started = await start()
    const { client } = await newCallers(started.call, 'client')
    const schemes = [client.headers ?? {}, { authorization: 'Bearer' }, { authorization: 'Token x' }]
    await allRefuse(started, checksToken, [401, 'bearer_required'], (operation) => {
      const headers = schemes[checksToken.indexOf(operation) % schemes.length] as Record<string, string>
      return merged(sampleOf(operation.route), { headers })
    })
  })

  it('refuses a token that is unknown: 401 token_invalid', async () => {
    const started = await start()
    const tokens = [`tqmt_${'0'.repeat(32)}`, 'x', "'or'1=1--", '\u00e9']
    // Each operation is asked with one of them, and each of them is met by many.
    await allRefuse(started, checksToken, [401, 'token_invalid'], (operation) => {
      const token = tokens[checksToken.indexOf(operation) % tokens.length] as string
      return merged(sampleOf(operation.route), { token })
    })
  })

  it("refuses a user's token if only accounts may call: 403 not_an_account", async () => {
    const started = await start()
    const { user } = await newCallers(started.call, 'user')
    await allRefuse(started, forbiddenTo('user'), [403, 'not_an_account'], ({ route }) => merged(sampleOf(route), user))
  })

  it("refuses an account's token where only users may call: 403 wrong_principal", async () => {
    const started = await start()
    const { account } = await newCallers(started.call, 'account')
    await allRefuse(started, forbiddenTo('account'), [403, 'wrong_principal'], ({ route }) =>
      merged(sampleOf(route), account),
    )
  })

  it("refuses an agent's token where no agent may call: 403", async () => {
    const started = await start()
    const { agent } = await newCallers(started.call, 'agent')
    const withoutAgents = judged.filter(({ route }) => !route.auth.includes('agent'))
    const [accounts, others] = [withoutAgents.filter(onlyAccounts), withoutAgents.filter((each) => !onlyAccounts(each))]
    await allRefuse(started, accounts, [403, 'not_an_account'], ({ route }) => merged(sampleOf(route), agent))
    await allRefuse(started, others, [403, 'wrong_principal'], ({ route }) => merged(sampleOf(route), agent))
  })

  it('refuses an agent that was not allowed the wallets: 403 insufficient_scope, with the scope to ask for', async () => {
    const started = await start()
    const { login } = await newCallers(started.call, 'login')
    const asked = judged.concat(built.filter(({ route }) => route.auth.every((kind) => kind === 'agent')))
    const taken = asked.filter(({ route }) => route.auth.includes('agent') && route.agentScope !== 'openid')
    await allRefuse(started, taken, [403, 'insufficient_scope'], ({ route }) => merged(sampleOf(route), login))
    await forAll(taken, async ({ route, absent }) => {
      const { headers } = await started.call(route.method, absent, merged(sampleOf(route), login))
      const challenge = headers.get('www-authenticate')
      expect(challenge).toMatch(/^Bearer realm="farthing", error="insufficient_scope", scope="twin"/)
      expect(challenge?.includes('resource_metadata='), route.id).toBe(route.isResource === true)
    })
  })

  it('shows an agent that was not allowed the wallets what everybody sees', async () => {
    const { call } = await start()
    const { login } = await newCallers(call, 'login')
    const open = built.filter(takes('none')).filter(takes('account', 'user', 'agent'))
    expect(open.length).toBeGreaterThan(0)
    for (const { route, absent } of open) {
      const [known, unknown] = [await call(route.method, absent, login), await call(route.method, absent)]
      expect([known.status, known.text], route.id).toEqual([unknown.status, unknown.text])
    }
  })

  it('refuses other tokens where only agents may call: 401 agent_token_required', async () => {
    const started = await start()
    const { account, user } = await newCallers(started.call, 'account', 'user')
    const asked = built.filter(({ route }) => route.auth.every((kind) => kind === 'agent'))
    for (const { token } of [account, user])
      await allRefuse(started, asked, [401, 'agent_token_required'], () => ({ token: token as string }))
    await allRefuse(started, asked, [401, 'authorization_missing'], () => ({}))
    await allRefuse(started, asked, [401, 'bearer_required'], () => ({ headers: { authorization: 'Basic x' } }))
    for (const token of ['x', 'e30.e30.e30', `tqmt_${'0'.repeat(32)}`]) {
      await allRefuse(started, asked, [401, 'token_invalid'], () => ({ token }))
      await forAll(asked, async ({ route, absent }) =>
        expect(sentenceOf(await started.call(route.method, absent, { token }))).toContain(
          'App tokens come from POST /v4/oidc/token.',
        ),
      )
    }
  })

  it('refuses a session that is not signed in: 401 sign_in_required', async () => {
    const started = await start()
    const { guest } = await newCallers(started.call, 'guest')
    await allRefuse(started, built.filter(takes('session')), [401, 'sign_in_required'], ({ route }) =>
      merged(sampleOf(route), guest),
    )
  })

  // In each runtime by session-rules.test.ts, like the next one.
  it('refuses different sessions in cookie and header: 401 session_conflict', async () => {
    const started = await start()
    const { guest, session } = await newCallers(started.call, 'guest', 'session')
    const headers = { cookie: `session_id=${guest.session}` }
    await allRefuse(started, built.filter(takes('session', 'guest')), [401, 'session_conflict'], ({ route }) =>
      merged(sampleOf(route), { ...session, headers }),
    )
  })

  it("refuses changes with another origin's cookie: 403 cross_site", async () => {
    const started = await start()
    const { session } = await newCallers(started.call, 'session')
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
  it('refuses missing, unsuitable, unknown and used credentials', async () => {
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
    const controls = built.filter(({ route }) => route.scope === 'sandbox' && !route.isOpen)
    for (const origin of ['https://evil.example.test', 'null', 'http://localhost.example.test'])
      await allRefuse(started, controls, [403, 'sandbox_refused'], ({ route }) =>
        merged(sampleOf(route), { headers: { origin } }),
      )
  })
})
