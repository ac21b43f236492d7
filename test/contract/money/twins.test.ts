import { expect, test } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { advance, expectProblem, fund, readPages, stopClock, UNKNOWN_DQ } from '../../support/scenes/market.js'
import { defaultDq, newPayer, newSeller, newSession, newTwin, newUser } from '../../support/scenes/world.js'

const versions = ['v4', 'v2'] as const

contract('createTwin', (start) => {
  for (const version of versions)
    test(`makes a twin of four fields that holds nothing of its digital quantity, under /${version}`, async () => {
      const {
        call,
        made: { token },
      } = await startWith(start, newSeller)
      const dq = await defaultDq(call)
      const { status, body } = await call('POST', `/${version}/twin/`, { token, body: { dq } })
      expect(status).toBe(201)
      expect(body).toEqual({
        id: expect.any(Number),
        hostname: expect.stringMatching(/^41[0-9a-f]{30}\.twin\.localhost$/),
        key: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
        balances: { [dq]: 0 },
      })
    })

  test('gives every twin its own id, hostname and key', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const made = [await newTwin(call, token), await newTwin(call, token), await newTwin(call, token)]
    for (const field of ['id', 'hostname', 'key'] as const)
      expect(new Set(made.map((twin) => twin[field])).size).toBe(3)
  })

  test("names twins under the service's domain", async () => {
    const { call } = await start({ twinDomain: 'wallets.example.test' })
    const { token } = await newSeller(call)
    expect((await newTwin(call, token)).hostname).toMatch(/^41[0-9a-f]{30}\.wallets\.example\.test$/)
  })

  test('creates twins for users too, and accepts a form', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newUser)
    const dq = await defaultDq(call)
    const { status, body } = await call('POST', '/v2/twin', { token, form: { dq } })
    expect(status).toBe(201)
    expect((await call('GET', '/v4/twins', { token })).body.twins[0]).toEqual(body)
  })

  test('refuses a digital quantity that is unknown, missing or not a text', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    expectProblem(await call('POST', '/v4/twin', { token, body: { dq: UNKNOWN_DQ } }), 400, 'dq_unknown')
    for (const body of [{}, { dq: 5 }, { dq: null }]) {
      const refused = await call('POST', '/v4/twin', { token, body })
      expectProblem(refused, 400, 'field_invalid')
      expect(refused.body.field).toBe('dq')
    }
    expect((await call('GET', '/v4/twins', { token })).body.twins).toEqual([])
  })
})

contract('readTwin', (start) => {
  for (const version of versions)
    test(`reads a twin by hostname and by id, with the key it was made with, under /${version}`, async () => {
      const {
        call,
        made: { token },
      } = await startWith(start, newSeller)
      const twin = await newTwin(call, token)
      for (const name of [
        twin.hostname,
        encodeURIComponent(twin.hostname).replace(/\./g, '%2E'),
        `${twin.id}`,
        `${twin.id}/`,
      ])
        expect((await call('GET', `/${version}/twin/${name}`, { token })).body).toEqual(twin)
    })

  test('shows a balance in each digital quantity that the twin holds', async () => {
    const points = { name: 'Points', shortcode: 'PTS', decimals: 0 }
    const { call } = await start({ seed: { digital_quantities: [points] } })
    const { token } = await newSeller(call)
    const { hostname } = await newTwin(call, token)
    const [dollars, pts] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, hostname, 0.125)
    await fund(call, hostname, 7, pts)
    expect((await call('GET', `/v4/twin/${hostname}`, { token })).body.balances).toEqual({ [dollars]: 0.125, [pts]: 7 })
  })

  test("shows the balances to a page with the account's public_secret, and null for the key", async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const twin = await newTwin(call, seller.token)
    for (const name of [twin.hostname, twin.id]) {
      const { status, body } = await call('GET', `/v4/twin/${name}?public_secret=${seller.publicSecret}`)
      expect(status).toBe(200)
      expect(body).toEqual({ ...twin, key: null })
    }
  })

  test('refuses an unknown public_secret, and one of another account', async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    const twin = await newTwin(call, seller.token)
    const read = (secret: string, name: string | number = twin.hostname) =>
      call('GET', `/v4/twin/${name}?public_secret=${secret}`)
    expectProblem(await read(`mp_${'0'.repeat(32)}`), 401, 'public_secret_unknown')
    expectProblem(await read(other.publicSecret), 403, 'not_owner')
    expectProblem(await read(other.publicSecret, twin.id), 404, 'not_found')
  })

  test("refuses the hostname of another's twin with 403, and treats its id like an absent one", async () => {
    const { call } = await start()
    const [seller, other] = [await newSeller(call), await newSeller(call)]
    const payer = await newPayer(call, seller)
    const twin = await newTwin(call, seller.token)
    for (const { token } of [other, payer]) {
      expectProblem(await call('GET', `/v4/twin/${twin.hostname}`, { token }), 403, 'not_owner')
      const anothers = await call('GET', `/v4/twin/${twin.id}`, { token })
      const absent = await call('GET', '/v4/twin/999999', { token })
      expectProblem(anothers, 404, 'not_found')
      expect(anothers.text).toBe(absent.text)
    }
  })

  test("does not show issuers' twins", async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const answers = []
    for (let id = 1; id < 3; id++) answers.push((await call('GET', `/v4/twin/${id}`, { token })).status)
    expect(answers).toEqual([404, 404])
  })

  test('finds nothing under an unknown or partial hostname', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const { hostname } = await newTwin(call, token)
    for (const name of ['nobody.twin.localhost', hostname.slice(0, -1), `${'9'.repeat(400)}`, '0', '-1', '1.0'])
      expectProblem(await call('GET', `/v4/twin/${name}`, { token }), 404, 'not_found')
    expectProblem(await call('GET', '/v4/twin/%FF', { token }), 400, 'path_malformed')
  })
})

contract('listTwins', (start) => {
  for (const version of versions)
    test(`lists the caller's own twins with their keys, newest first, under /${version}`, async () => {
      const {
        call,
        made: { token },
      } = await startWith(start, newSeller)
      await newTwin(call, (await newSeller(call)).token)
      const made = [await newTwin(call, token), await newTwin(call, token)]
      expect((await call('GET', `/${version}/twins`, { token })).body).toEqual({ twins: made.reverse(), next: null })
    })

  test('gives a session the twins of the user who is signed in', async () => {
    const { call, made: payer } = await startWith(start, newUser)
    const session = await newSession(call, payer.email)
    const { twins } = (await call('GET', '/v4/twins', { session })).body
    expect(twins).toEqual((await call('GET', '/v4/twins', { token: payer.token })).body.twins)
  })

  test('has pages, and a next of null on the last', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const ids = []
    for (let n = 0; n < 5; n++) ids.unshift((await newTwin(call, token)).id)
    const pages = await readPages(call, '/v4/twins', { plural: 'twins', token, limit: 2 })
    expect(pages.map((page) => page.map(({ id }) => id))).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)])
  })

  test('has every twin of an owner with many, in each mode', async () => {
    for (const evidence of ['designed', 'documented'] as const) {
      const { call } = await start({ evidence })
      const { token } = await newSeller(call)
      const ids: number[] = []
      for (let n = 0; n < 205; n++) ids.unshift((await newTwin(call, token)).id)
      const { body } = await call('GET', '/v4/twins', { token })
      expect(body.twins.map((twin: { id: number }) => twin.id)).toEqual(ids)
      expect('next' in body ? body.next : 'left out').toBe(evidence === 'designed' ? null : 'left out')
    }
  })

  test('refuses unknown cursors, and limits outside of 1 to 100', async () => {
    const {
      call,
      made: { token },
    } = await startWith(start, newSeller)
    const others = await newTwin(call, (await newSeller(call)).token)
    for (const after of [0, -1, 999999, others.id])
      expectProblem(await call('GET', `/v4/twins?after=${after}`, { token }), 400, 'cursor_invalid')
    for (const query of ['limit=0', 'limit=101', 'limit=1.5', 'limit=ten', 'after=first', 'limit=1&limit=2'])
      expectProblem(await call('GET', `/v4/twins?${query}`, { token }), 400, 'field_invalid')
  })
})

contract('listTwinQuantities', (start) => {
  test('lists the hashes that GET /v4/dq lists, to anyone', { tags: 'everywhere' }, async () => {
    const { call } = await start({ seed: { digital_quantities: [{ name: 'Points', shortcode: 'PTS' }] } })
    const { digital_quantities } = (await call('GET', '/v4/dq')).body
    expect(digital_quantities).toHaveLength(2)
    expect((await call('GET', '/v2/twin/dq')).body).toEqual({ digital_quantities })
  })
})

contract('createTwinNonce and verifyTwinNonce', (start) => {
  async function prepared() {
    const { call } = await start()
    const at = await stopClock(call)
    const [owner, verifier] = [await newSeller(call), await newSeller(call)]
    const twin = await newTwin(call, owner.token)
    const create = (hostname: string | number = twin.hostname, { token } = owner) =>
      call('POST', '/v2/twin/nonce', { token, body: { hostname } })
    const verify = (nonce: unknown, hostname: unknown = twin.hostname, { token } = verifier) =>
      call('PUT', '/v2/twin/nonce', { token, body: { hostname, nonce } })
    return { call, at, owner, verifier, twin, create, verify }
  }

  test('proves control of a twin to another party, once', { tags: 'everywhere' }, async () => {
    const { at, twin, create, verify } = await prepared()
    const { status, body } = await create()
    expect(status).toBe(201)
    expect(body).toEqual({
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      hostname: twin.hostname,
      expires_at: at / 1000 + 300,
    })
    const verified = await verify(body.nonce)
    expect(verified.status).toBe(200)
    expect(verified.body).toEqual({ valid: true, hostname: twin.hostname })
    expectProblem(await verify(body.nonce), 400, 'twin_nonce_refused')
  })

  test('works for users too, and with the id instead of the hostname', async () => {
    const { call, owner, verify } = await prepared()
    const payer = await newPayer(call, owner)
    const [{ id }] = (await call('GET', '/v4/twins', { token: payer.token })).body.twins
    const { body } = await call('POST', '/v2/twin/nonce', { token: payer.token, body: { hostname: `${id}` } })
    expect(body.hostname).toBe(payer.hostname)
    expect((await verify(body.nonce, payer.hostname)).status).toBe(200)
  })

  test('allows several nonces for one twin', async () => {
    const { create, verify } = await prepared()
    const nonces = [(await create()).body.nonce, (await create()).body.nonce]
    expect(nonces[0]).not.toBe(nonces[1])
    for (const nonce of nonces) expect((await verify(nonce)).status).toBe(200)
  })

  test('lasts exactly five minutes', async () => {
    const { call, create, verify } = await prepared()
    const [first, second] = [(await create()).body.nonce, (await create()).body.nonce]
    await advance(call, '4m59s999ms')
    expect((await verify(first)).status).toBe(200)
    await advance(call, '1ms')
    expectProblem(await verify(second), 400, 'twin_nonce_refused')
  })

  test('refuses an invented nonce or one of another twin, without spending it', async () => {
    const { call, owner, twin, create, verify } = await prepared()
    const { nonce } = (await create()).body
    const other = await newTwin(call, owner.token)
    for (const [sent, hostname] of [
      ['made-up', twin.hostname],
      [nonce, other.hostname],
      [nonce, 'nobody.twin.localhost'],
      ['', twin.hostname],
    ])
      expectProblem(await verify(sent, hostname), 400, 'twin_nonce_refused')
    expect((await verify(nonce)).status).toBe(200)
  })

  test('creates nonces only for the owner of the twin', async () => {
    const { twin, create, verifier } = await prepared()
    expectProblem(await create(twin.hostname, verifier), 403, 'not_owner')
    expectProblem(await create(`${twin.id}`, verifier), 404, 'not_found')
    expectProblem(await create('nobody.twin.localhost'), 404, 'not_found')
  })

  test('names the field that is missing', async () => {
    const { create, verify } = await prepared()
    const missing = [await create(5), await verify(undefined), await verify('nonce', 7)]
    expect(missing.map(({ status, body }) => [status, body.code, body.field])).toEqual([
      [400, 'field_invalid', 'hostname'],
      [400, 'field_invalid', 'nonce'],
      [400, 'field_invalid', 'hostname'],
    ])
  })

  test('exist only in the earlier version', async () => {
    const { call, owner, twin } = await prepared()
    const options = { token: owner.token, body: { hostname: twin.hostname } }
    expect((await call('POST', '/v4/twin/nonce', options)).status).toBe(405)
  })
})

contract('a service that shows balances in smallest units', (start) => {
  test('shows every map of balances in integers, and all other amounts in the quantity', {
    tags: 'everywhere',
  }, async () => {
    const seed = { digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }] }
    const { call } = await start({ balances: 'smallest', seed })
    const seller = await newSeller(call)
    const payer = await newPayer(call, seller, { balance: 7.42 })
    const [dq, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    await fund(call, payer.hostname, 3, points)
    const { token, hostname } = payer
    const balances = { [dq]: 7420, [points]: 3 }
    for (const version of ['v2', 'v4']) {
      expect((await call('GET', `/${version}/twin/${hostname}`, { token })).body.balances).toEqual(balances)
      expect((await call('GET', `/${version}/twins`, { token })).body.twins[0].balances).toEqual(balances)
    }
    const topup = { amount: 1.5, payment_method_id: 'pm_card_visa' }
    const { body } = await call('POST', `/v4/twin/${hostname}/topup`, { token, body: topup })
    expect([body.payment.amount, body.balances]).toEqual([1.5, { [dq]: 8920, [points]: 3 }])
    expect((await call('POST', '/v4/twin', { token, body: { dq } })).body.balances).toEqual({ [dq]: 0 })
    const registered = await call('POST', '/v4/account/register', { body: { dq, email: 'ada@example.test' } })
    expect(registered.body.twin.balances).toEqual({ [dq]: 0 })
    const metadata = (await call('GET', '/v4/dq')).body.metadata
    expect([metadata[dq].decimals, metadata[points].decimals]).toEqual([3, 0])
    const binder = await call('GET', `/v4/twin/${hostname}/binder`, { token })
    expect(binder.text).toContain(`,${dq},7.42,`)
  })
})
