import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { createService } from '../../../src/index.js'
import { type Answer, type Call, type CallOptions, caller } from '../../support/api.js'
import { contract, type Start } from '../../support/contract/contract.js'
import { prepared } from '../../support/contract/prepared.js'
import { advance, expectProblem, readPages, stopClock, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { newAgent } from '../../support/scenes/oidc.js'
import { HASH, newDelegate, newPersona, twinIdOf, UNKNOWN_HASH } from '../../support/scenes/personas.js'
import { defaultDq, newCommodity, newPayer, newSeller, newSession, newTwin } from '../../support/scenes/world.js'

/** A seller's persona, and a user to give its delegates to. */
const club = async (call: Call) => {
  const at = await stopClock(call)
  const seller = await newSeller(call)
  const holder = await newPayer(call, seller)
  const persona = await newPersona(call, seller, { name: 'Club' })
  const holderId = await twinIdOf(call, holder.token, holder.hostname)
  return { at, seller, holder, holderId, persona }
}

const startClub = prepared(club)

function asking<R extends Awaited<ReturnType<typeof club>> & { call: Call }>(running: R) {
  const { call, seller, holder, persona } = running
  const path = `/v4/persona/${persona.hash}/delegate`
  const give = (body: object = {}, options: CallOptions = { token: seller.token }) =>
    call('POST', path, { ...options, body: { hostname: holder.hostname, ...body } })
  const verify = (query: string, options: CallOptions = { token: seller.token }, hash = persona.hash) =>
    call('GET', `/v4/persona/${hash}/verify?${query}`, options)
  return { ...running, path, give, verify }
}

const withPersona = async (start: Start) => asking(await startClub(start, undefined))
const withPersonaOf = async ({ call }: { call: Call }) => asking({ call, ...(await club(call)) })

const hashes = (answers: Answer[]): string[] => answers.map(({ body }) => body.hash)

contract('createDelegate', (start) => {
  for (const version of ['v4', 'v3'])
    test(`gives a delegate as existing clients ask for it, counted per persona, under /${version}`, async () => {
      const { call, at, seller, holder, persona } = await withPersona(start)
      const body = { hostname: holder.hostname, name: 'Bob', email: 'bob@example.test' }
      const path = `/${version}/persona/${persona.hash}/delegate`
      const { status, body: given } = await call('POST', path, { token: seller.token, body })
      expect([status, given]).toEqual([
        201,
        {
          hash: expect.stringMatching(HASH),
          persona: persona.hash,
          hostname: holder.hostname,
          issue: 1,
          created_at: at / 1000,
        },
      ])
      const again = await call('POST', path, { token: seller.token, body })
      expect([again.status, again.body.issue]).toEqual([201, 2])
      expect(again.body.hash).not.toBe(given.hash)
      const other = await newPersona(call, seller)
      expect((await newDelegate(call, seller, { persona: other.hash, hostname: holder.hostname })).issue).toBe(1)
    })

  test('works for users with a token and with a session', async () => {
    const { call, seller, holder } = await withPersona(start)
    const mine = await newPersona(call, holder)
    const session = await newSession(call, holder.email)
    const to = { persona: mine.hash, hostname: (await newTwin(call, seller.token)).hostname }
    expect((await newDelegate(call, { token: holder.token }, to)).issue).toBe(1)
    expect((await newDelegate(call, { session }, to)).issue).toBe(2)
  })

  test('refuses unknown personas, personas of others and unknown twins, and counts none of them', async () => {
    const { call, seller, holder, give, state } = await withPersona(start)
    const before = (await state()).rows
    expectProblem(await give({}, { token: holder.token }), 403, 'not_owner')
    expectProblem(await give({ hostname: 'nobody.twin.localhost' }), 404, 'not_found')
    const unknown = `/v4/persona/${UNKNOWN_HASH}/delegate`
    const sent = { token: seller.token, body: { hostname: holder.hostname } }
    expectProblem(await call('POST', unknown, sent), 404, 'not_found')
    expect((await state()).rows).toEqual(before)
    expect((await give()).body.issue).toBe(1)
  })

  test('names an invalid field', async () => {
    const { call, give, seller, at } = await withPersona(start)
    const party = { client_id: seller.clientId }
    const spend = { party, dq: await defaultDq(call), limit: 1 }
    for (const [field, body] of [
      ['hostname', { hostname: 5 }],
      ['name', { name: 'x'.repeat(256) }],
      ['email', { email: 'bob' }],
      ['spend.limit', { spend: { ...spend, limit: '1' } }],
      ['spend.period', { spend: { ...spend, period: 'week' } }],
      ['spend.expires_at', { spend: { ...spend, expires_at: 'soon' } }],
      ['spend.expires_at', { spend: { ...spend, expires_at: at / 1000 } }],
      ['spend.party', { spend: { ...spend, party: {} } }],
      ['spend.party', { spend: { ...spend, party: { ...party, public_secret: seller.publicSecret } } }],
      ['spend.party.client_id', { spend: { ...spend, party: { client_id: seller.publicSecret } } }],
      ['spend.party.public_secret', { spend: { ...spend, party: { public_secret: seller.clientId } } }],
    ] as const) {
      const refused = await give(body)
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(field)
    }
    expectProblem(await give({ spend: { ...spend, dq: UNKNOWN_DQ } }), 400, 'dq_unknown')
    for (const limit of [0, -1, 0.0001])
      expectProblem(await give({ spend: { ...spend, limit } }), 400, 'amount_invalid')
    expect((await give({ name: null, email: null, spend: null })).body.issue).toBe(1)
  })

  test('counts from 1 to 20 in 20 calls at once', async () => {
    const { give } = await withPersona(start)
    const answers = await Promise.all(Array.from({ length: 20 }, () => give()))
    expect(answers.map(({ body }) => body.issue).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 1),
    )
    expect(new Set(hashes(answers)).size).toBe(20)
  })

  test('creates one with one Idempotency-Key', async () => {
    const { give, seller } = await withPersona(start)
    const keyed = { token: seller.token, headers: { 'idempotency-key': 'one' } }
    const [first, again] = [await give({}, keyed), await give({}, keyed)]
    expect([again.status, again.text]).toEqual([201, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expectProblem(await give({ name: 'Other' }, keyed), 422, 'idempotency_mismatch')
    expect((await give()).body.issue).toBe(2)
  })

  test('records its creation and its end in the logs of both sides', async () => {
    const { call, seller, holder, persona, give } = await withPersona(start)
    const { hash } = (await give({ name: 'Bob', email: 'bob@example.test' })).body
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${hash}`, { token: seller.token })
    const eventsOf = async (token: string) =>
      (await call('GET', '/v4/events', { token })).body.events.filter(({ type }: any) => type.startsWith('delegate.'))
    const told = {
      id: expect.any(Number),
      actor: `account:${seller.id}`,
      subject: `delegate:${hash}`,
      data: { persona: persona.hash, hostname: holder.hostname, issue: 1, spends: false },
      created_at: expect.any(Number),
    }
    for (const { token } of [seller, holder])
      expect(await eventsOf(token)).toEqual([
        { ...told, type: 'delegate.revoked' },
        { ...told, type: 'delegate.created' },
      ])
  })
})

contract('listDelegates', (start) => {
  test("pages through the persona's delegates, newest first, for its owner", { tags: 'everywhere' }, async () => {
    const { call, at, seller, holder, persona, give } = await withPersona(start)
    const spend = {
      party: { client_id: seller.clientId },
      dq: await defaultDq(call),
      limit: 2.5,
      period: 'day',
      expires_at: at / 1000 + 60,
    }
    const plain = (await give()).body
    const named = (await give({ name: 'Bob', email: ' bob@example.test', spend })).body
    const last = (await give({ spend: { ...spend, period: null, expires_at: undefined } })).body
    await call('DELETE', `/v4/persona/${persona.hash}/delegates/${plain.hash}`, { token: seller.token })
    const path = `/v4/persona/${persona.hash}/delegates`
    const pages = await readPages(call, path, { plural: 'delegates', token: seller.token, limit: 2 })
    const common = { persona: persona.hash, hostname: holder.hostname, revoked_at: null, created_at: at / 1000 }
    const bare = { name: null, email: null, spend: null }
    expect(pages).toEqual([
      [
        { ...common, ...bare, hash: last.hash, issue: 3, spend: { ...spend, period: null, expires_at: null } },
        { ...common, hash: named.hash, issue: 2, name: 'Bob', email: 'bob@example.test', spend },
      ],
      [{ ...common, ...bare, hash: plain.hash, issue: 1, revoked_at: at / 1000 }],
    ])
    expectProblem(await call('GET', path, { token: holder.token }), 403, 'not_owner')
    expectProblem(await call('GET', `${path}?after=${UNKNOWN_HASH}`, { token: seller.token }), 400, 'cursor_invalid')
    const unknown = `/v4/persona/${UNKNOWN_HASH}/delegates`
    expectProblem(await call('GET', unknown, { token: seller.token }), 404, 'not_found')
  })
})

contract('deleteDelegate', (start) => {
  test('revokes a delegate, once and only for the owner of its persona', async () => {
    const { call, seller, holder, holderId, persona, give, verify } = await withPersona(start)
    const [first, second] = hashes([await give(), await give()]) as [string, string]
    const revoke = (delegate: string, token = seller.token, hash = persona.hash) =>
      call('DELETE', `/v4/persona/${hash}/delegates/${delegate}`, { token })
    const other = await newPersona(call, seller)
    expectProblem(await revoke(first, holder.token), 403, 'not_owner')
    expectProblem(await revoke(first, seller.token, other.hash), 404, 'not_found')
    expectProblem(await revoke(first, seller.token, UNKNOWN_HASH), 404, 'not_found')
    expectProblem(await revoke(UNKNOWN_HASH), 404, 'not_found')
    expect((await verify(`twin_id=${holderId}`)).body.instances).toEqual([first, second])
    const answers = await Promise.all(Array.from({ length: 5 }, () => revoke(first)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 404, 404, 404, 404])
    expect((await verify(`twin_id=${holderId}`)).body.instances).toEqual([second])
    const { body } = await call('GET', '/v4/persona/delegates', { token: holder.token })
    expect(body).toEqual({ [persona.hash]: [second] })
  })
})

contract('listDelegateMapping', (start) => {
  for (const version of ['v4', 'v3'])
    test(`maps personas to the delegates that the caller's twins hold, under /${version}`, async () => {
      const { call, seller, holder, persona, give } = await withPersona(start)
      const read = async (options: CallOptions) =>
        (await call('GET', `/${version}/persona/delegates`, { ...options })).body
      expect(await read({ token: holder.token })).toEqual({})
      const second = await newTwin(call, holder.token)
      const other = await newPersona(call, seller)
      const [one, two] = hashes([await give(), await give({ hostname: second.hostname })])
      const three = await newDelegate(call, seller, { persona: other.hash, hostname: second.hostname })
      const mapping = { [persona.hash]: [one, two], [other.hash]: [three.hash] }
      expect(await read({ token: holder.token })).toEqual(mapping)
      expect(await read({ session: await newSession(call, holder.email) })).toEqual(mapping)
      expect(await read({ token: seller.token })).toEqual({})
    })
})

contract('verifyPersona', (start) => {
  for (const version of ['v4', 'v3'])
    test(`gives the delegates that a twin holds, and status 404 where it holds none, under /${version}`, async () => {
      const { call, seller, holder, holderId, persona, give } = await withPersona(start)
      const path = `/${version}/persona/${persona.hash}/verify?twin_id=${holderId}`
      const none = await call('GET', path, { token: seller.token })
      expect([none.status, none.body]).toEqual([
        200,
        {
          status: 404,
          message: 'The twin holds none of the requested delegates of "Club".',
          hostname: holder.hostname,
          instances: [],
        },
      ])
      const given = hashes([await give(), await give()])
      const { status, body } = await call('GET', path, { token: seller.token })
      expect([status, body]).toEqual([
        200,
        {
          status: 200,
          message: 'The twin holds 2 of the requested delegates of "Club".',
          hostname: holder.hostname,
          instances: given,
        },
      ])
    })

  test('filters by issue from issue_min to issue_max, both included', async () => {
    const { holderId, give, verify } = await withPersona(start)
    for (let n = 0; n < 4; n++) await give()
    const count = async (query: string) => (await verify(`twin_id=${holderId}&${query}`)).body.instances.length
    expect(await count('issue_min=2')).toBe(3)
    expect(await count('issue_max=1')).toBe(1)
    expect(await count('issue_min=2&issue_max=3')).toBe(2)
    expect(await count('issue_min=5')).toBe(0)
    expect(await count('issue_min=3&issue_max=2')).toBe(0)
    expectProblem(await verify(`twin_id=${holderId}&issue_min=x`), 400, 'field_invalid')
  })

  test('works for accounts, users, their sessions and agents, and for pages with a public_secret', async () => {
    const { call, seller, holder, holderId, give, verify } = await withPersona(start)
    const { hash } = (await give()).body
    const session = await newSession(call, holder.email)
    const { accessToken } = await newAgent(call, { email: 'eve@example.test' })
    for (const options of [{ token: seller.token }, { token: holder.token }, { session }, { token: accessToken }])
      expect((await verify(`twin_id=${holderId}`, options)).body.instances).toEqual([hash])
    const embedded = await verify(`twin_id=${holderId}&public_secret=${seller.publicSecret}`, {})
    expect(embedded.body.instances).toEqual([hash])
    const commodity = await newCommodity(call, seller)
    const made = { hash: commodity.hash, origin: 'https://shop.example.test' }
    const page = (await call('POST', '/v4/session/page', { session, body: made })).body.session_id
    expectProblem(await verify(`twin_id=${holderId}`, { session: page }), 403, 'wrong_principal')
  })

  test('refuses unknown personas and twins', async () => {
    const { holderId, verify } = await withPersona(start)
    expectProblem(await verify(`twin_id=${holderId}`, undefined, UNKNOWN_HASH), 404, 'not_found')
    expectProblem(await verify('twin_id=999999'), 404, 'not_found')
    const refused = await verify('issue_min=1')
    expectProblem(refused, 400, 'field_invalid')
    expect(refused.body.field).toBe('twin_id')
  })

  test('shows the delegates that a public_secret spends with only to their two sides', async () => {
    const { call, seller, holder, holderId, give, verify } = await withPersona(start)
    const page = await newSeller(call)
    const spend = { dq: await defaultDq(call), limit: 1 }
    const bearer = (await give({ spend: { ...spend, party: { public_secret: page.publicSecret } } })).body.hash
    const bound = (await give({ spend: { ...spend, party: { client_id: page.clientId } } })).body.hash
    const seen = async (query: string, options: CallOptions) =>
      (await verify(`twin_id=${holderId}${query}`, options)).body.instances
    for (const { token } of [seller, holder]) expect(await seen('', { token })).toEqual([bearer, bound])
    expect(await seen('', { token: page.token })).toEqual([bound])
    expect(await seen(`&public_secret=${page.publicSecret}`, {})).toEqual([bound])
  })
})

test('verifyPersona takes its fields as a JSON body too', async () => {
  const service = createService({ sandbox: true })
  const url = 'http://127.0.0.1:4242'
  const { seller, holderId, persona, give } = await withPersonaOf({ call: caller({ url, fetch: service.fetch }) })
  const { hash } = (await give()).body
  const ask = (fields: object) => {
    // As a runtime hands it over: a Request can carry no body with a GET.
    const body = async () => new TextEncoder().encode(JSON.stringify(fields))
    const call = caller({ url, fetch: (request) => service.respond(request, { body }) })
    const headers = { 'content-type': 'application/json' }
    return call('GET', `/v4/persona/${persona.hash}/verify`, { token: seller.token, headers })
  }
  expect((await ask({ twin_id: holderId })).body.instances).toEqual([hash])
  expect((await ask({ twin_id: holderId, issue_min: 2 })).body.status).toBe(404)
  await service.close()
})

describe('an Idempotency-Key of personas and delegates', () => {
  test('refuses a different body, and an answer that was encrypted with a different key', async () => {
    const storage = memoryStorage()
    const url = 'http://127.0.0.1:4242'
    const services = ['11', '22'].map((byte) =>
      createService({ storage, sandbox: true, encryptionKey: byte.repeat(32) }),
    )
    const [one, other] = services.map(({ fetch }) => caller({ url, fetch })) as [Call, Call]
    const { persona, seller, holder } = await withPersonaOf({ call: one })
    await advance(one, '1s')
    for (const [path, body] of [
      ['/v4/persona', { name: 'Ada', twin_id: persona.twinId }],
      [`/v4/persona/${persona.hash}/delegate`, { hostname: holder.hostname }],
    ] as const) {
      const keyed = { token: seller.token, headers: { 'idempotency-key': 'k' }, body }
      expect((await one('POST', path, keyed)).status).toBe(201)
      expectProblem(await other('POST', path, keyed), 409, 'idempotency_unreadable')
      expectProblem(await one('POST', path, { ...keyed, body: { ...body, name: 'B' } }), 422, 'idempotency_mismatch')
    }
    for (const service of services) await service.close()
  })
})
