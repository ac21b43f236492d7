import { expect, test } from 'vitest'
import type { Call } from '../../support/api.js'
import { contract } from '../../support/contract/contract.js'
import { expectProblem, stopClock } from '../../support/scenes/market.js'
import { HASH, newPersona, UNKNOWN_HASH } from '../../support/scenes/personas.js'
import { newPayer, newSeller, newSession, newTwin } from '../../support/scenes/world.js'

contract('createPersona', (start) => {
  async function prepared() {
    const running = await start()
    const { call } = running
    const at = await stopClock(call)
    const seller = await newSeller(call)
    const twin = await newTwin(call, seller.token)
    const create = (body: object, options: object = { token: seller.token }) =>
      call('POST', '/v4/persona', { ...options, body: { name: 'Ada', twin_id: twin.id, ...body } })
    return { ...running, at, seller, twin, create }
  }

  test('answers 201 with the persona and its own hash', async () => {
    const { at, twin, create } = await prepared()
    const { status, body } = await create({ name: ' Ada ', description: 'Reads a lot.' })
    expect(status).toBe(201)
    expect(body).toEqual({
      hash: expect.stringMatching(HASH),
      name: 'Ada',
      description: 'Reads a lot.',
      hostname: twin.hostname,
      created_at: at / 1000,
    })
    const second = await create({ name: 'Ada', description: 'Reads a lot.' })
    expect(second.body.hash).not.toBe(body.hash)
    expect((await create({ description: null })).body.description).toBeNull()
    expect((await create({})).body.description).toBeNull()
  })

  test('works for users with a token and with a session', async () => {
    const { call, seller, create } = await prepared()
    const payer = await newPayer(call, seller)
    const [{ id }] = (await call('GET', '/v4/twins', { token: payer.token })).body.twins
    const session = await newSession(call, payer.email)
    for (const options of [{ token: payer.token }, { session }])
      expect((await create({ twin_id: id }, options)).body.hostname).toBe(payer.hostname)
  })

  test('refuses the twin of someone else like an unknown one', async () => {
    const { call, seller, create, state } = await prepared()
    const other = await newPayer(call, seller)
    const [{ id }] = (await call('GET', '/v4/twins', { token: other.token })).body.twins
    const before = (await state()).rows
    expectProblem(await create({ twin_id: id }), 400, 'twin_unknown')
    expect((await create({ twin_id: id })).text).toBe((await create({ twin_id: 999999 })).text)
    expect((await state()).rows).toEqual(before)
  })

  test('names an invalid field', async () => {
    const { create } = await prepared()
    for (const [field, body] of [
      ['name', { name: '' }],
      ['name', { name: '   ' }],
      ['name', { name: 'x'.repeat(65) }],
      ['description', { description: 'x'.repeat(1025) }],
      ['twin_id', { twin_id: 1.5 }],
    ] as const) {
      const refused = await create(body)
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe(field)
    }
    expect((await create({ name: 'x'.repeat(64), description: 'x'.repeat(1024) })).status).toBe(201)
  })

  test('creates one with one Idempotency-Key', async () => {
    const { create, seller, state } = await prepared()
    const options = { token: seller.token, headers: { 'idempotency-key': 'one' } }
    const [first, again] = [await create({}, options), await create({}, options)]
    expect(again.text).toBe(first.text)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await state()).rows.personas).toHaveLength(1)
  })
})

contract('readPersona', (start) => {
  for (const version of ['v4', 'v3'])
    test(`shows a persona to anyone, whatever the element asks with it, under /${version}`, async () => {
      const { call } = await start()
      const { twinId, ...persona } = await newPersona(call, await newSeller(call), { description: 'Reads.' })
      for (const query of ['', '?embed=false', '?embed=true', '?embed=x&embed=y']) {
        const { status, body } = await call('GET', `/${version}/persona/${persona.hash}${query}`)
        expect([status, body]).toEqual([200, persona])
      }
      expectProblem(await call('GET', `/${version}/persona/${UNKNOWN_HASH}`), 404, 'not_found')
    })

  test('may be cached, and answers pages of every origin', { tags: 'everywhere' }, async () => {
    const { call } = await start()
    const { hash } = await newPersona(call, await newSeller(call))
    const headers = { origin: 'https://shop.example.test', 'content-type': 'application/json' }
    const answer = await call('GET', `/v3/persona/${hash}?embed=false`, { headers })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(answer.headers.get('access-control-allow-origin')).toMatch(/^(\*|https:\/\/shop\.example\.test)$/)
  })
})

contract('A snapshot', (start) => {
  const rowsOf = async (call: Call) => (await call('GET', '/_sandbox/snapshot')).body

  test('contains personas and their delegates, which continue to count', { tags: 'everywhere' }, async () => {
    const first = await start()
    const { call } = first
    const seller = await newSeller(call)
    const persona = await newPersona(call, seller)
    const path = `/v4/persona/${persona.hash}/delegate`
    await call('POST', path, { token: seller.token, body: { hostname: persona.hostname } })
    const second = await start()
    expect((await second.call('PUT', '/_sandbox/snapshot', { body: await rowsOf(call) })).status).toBe(204)
    const { body } = await second.call('GET', '/v4/persona/delegates', { token: seller.token })
    expect(body).toEqual({ [persona.hash]: [expect.stringMatching(HASH)] })
    const next = await second.call('POST', path, { token: seller.token, body: { hostname: persona.hostname } })
    expect(next.body.issue).toBe(2)
  })
})
