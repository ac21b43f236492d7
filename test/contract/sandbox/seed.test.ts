import { expect, test } from 'vitest'
import type { Seed } from '../../../src/index.js'
import { contract } from '../../support/contract/contract.js'
import { balancesOf, expectProblem, expectSoundLedger } from '../../support/scenes/market.js'
import { newCommodity, newSeller, tokenFor } from '../../support/scenes/world.js'

const hex = (digit: string) => digit.repeat(32)
const YEAR = { type: 'object', properties: { year: { type: 'string' } }, required: ['year'] }
const HASH = '11111111-2222-4333-8444-555555555555'

contract('seedSandbox', (start) => {
  async function prepared() {
    const running = await start()
    const seed = (body: Seed | object) => running.call('POST', '/_sandbox/seed', { body })
    return { ...running, seed }
  }

  test('creates quantities, accounts, users, twins and commodities, and shows all their credentials', async () => {
    const { call, seed } = await prepared()
    const { status, body } = await seed({
      digital_quantities: [{ name: 'Points', shortcode: 'PTS', shortdescription: 'For games', decimals: 0 }],
      accounts: [{ name: 'News', businessName: 'The News', balance: 2.5 }],
      users: [{ email: 'Ada@Example.test', balance: 10 }],
      twins: [
        { account: 'News', dq: 'PTS', balance: 7 },
        { user: 'ada@example.test', dq: 'PTS' },
      ],
      commodities: [{ account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 }],
    })
    expect(status).toBe(201)
    const [dollars, points] = (await call('GET', '/v4/dq')).body.digital_quantities
    expect(body.digital_quantities).toEqual([{ dq: points, shortcode: 'PTS' }])
    const { metadata } = (await call('GET', '/v4/dq')).body
    expect(metadata[points]).toEqual({ name: 'Points', shortcode: 'PTS', shortdescription: 'For games', decimals: 0 })

    const [news] = body.accounts
    const token = await tokenFor(call, news.client_id, news.client_secret)
    const account = (await call('GET', '/v4/account', { token })).body
    expect([account.id, account.name, account.businessName]).toEqual([news.id, 'News', 'The News'])
    expect(account.secrets[0].public_secret).toBe(news.public_secret)
    const { twins } = (await call('GET', '/v4/twins', { token })).body
    const shown = ({ id, hostname, key, balance }: any, dq: string) => ({
      id,
      hostname,
      key,
      balances: { [dq]: balance },
    })
    expect(twins).toEqual([shown(body.twins[0], points), shown(news.twin, dollars)])

    const [ada] = body.users
    expect(ada.email).toBe('ada@example.test')
    const userToken = await tokenFor(call, ada.client_id, ada.client_secret)
    const own = (await call('GET', '/v4/twins', { token: userToken })).body.twins
    expect(own).toEqual([shown(body.twins[1], points), shown(ada.twin, dollars)])
    expect((await call('GET', `/v4/user/${ada.id}`, { token: userToken })).body.secrets[0].client_id).toBe(
      ada.client_id,
    )

    const [article] = body.commodities
    expect(article).toEqual({
      hash: expect.any(String),
      descriptor: 'NEWS.ARTICLE',
      dq: dollars,
      cost: 0.25,
      hostname: news.twin.hostname,
    })
    expect((await call('GET', `/v4/commodity/${article.hash}`)).body).toEqual(article)
    expect((await call('POST', `/v4/payment/${article.hash}`, { token: userToken })).status).toBe(202)
    await expectSoundLedger(call)
  })

  test('creates items with endpoints of others or of its own', { tags: 'everywhere' }, async () => {
    const { call, seed } = await prepared()
    const { status, body } = await seed({
      accounts: [{ name: 'News', businessName: 'The News' }],
      twins: [{ account: 'News', hostname: 'second.twin.localhost' }],
      items: [
        {
          account: 'News',
          name: 'Archive',
          price: 0.02,
          external_endpoint: '/archive/{input.year}',
          service_schema: YEAR,
        },
        {
          ...{
            account: 'News',
            name: 'Letters',
            description: 'To the editor.',
            price: 0,
            dq: 'USD',
            descriptor: 'LETTER',
          },
          ...{ hostname: 'second.twin.localhost', service_method: 'POST', featured: true, private: true },
          external_endpoint: 'https://api.example.test/letters',
        },
      ],
    })
    expect(status).toBe(201)
    const [archive, letters] = body.items
    const base = (await call('GET', '/.well-known/oauth-protected-resource')).body.resource
    expect(archive).toMatchObject({
      ...{ name: 'Archive', description: '', price: 0.02, seller: 'The News', active: true, featured: false },
      ...{ hostname: body.accounts[0].twin.hostname, service_method: 'GET', service_schema: YEAR },
      external_endpoint: `${base}/archive/{input.year}`,
    })
    expect(letters).toMatchObject({
      ...{
        descriptor: 'LETTER',
        hostname: 'second.twin.localhost',
        service_method: 'POST',
        featured: true,
        private: true,
      },
      service_schema: { type: 'object', properties: {} },
    })
    expect((await call('GET', '/v4/catalog/items')).body).toMatchObject({ total: 1, items: [{ id: archive.id }] })
  })

  test('uses the ids, secrets and hostnames that it fixes', async () => {
    const { call, seed } = await prepared()
    const credentials = {
      public_secret: `mp_${hex('1')}`,
      client_id: `mid_${hex('2')}`,
      client_secret: `mc_${hex('3')}`,
    }
    const { body } = await seed({
      accounts: [{ name: 'News', ...credentials, hostname: 'news.twin.localhost' }],
      users: [{ email: 'ada@example.test', client_id: `mid_${hex('4')}`, hostname: 'ada' }],
      twins: [{ account: 'News', hostname: 'second.twin.localhost' }],
      commodities: [{ account: 'News', descriptor: 'A', cost: 1, hash: HASH, hostname: 'second.twin.localhost' }],
    })
    expect(body.accounts[0]).toMatchObject({ name: 'News', ...credentials, twin: { hostname: 'news.twin.localhost' } })
    expect(body.users[0]).toMatchObject({ client_id: `mid_${hex('4')}`, twin: { hostname: 'ada' } })
    expect(body.commodities[0]).toMatchObject({ hash: HASH, hostname: 'second.twin.localhost' })
    const token = await tokenFor(call, credentials.client_id, credentials.client_secret)
    expect((await call('GET', '/v4/twin/second.twin.localhost', { token })).status).toBe(200)
    const page = await call('GET', `/v4/twin/news.twin.localhost?public_secret=${credentials.public_secret}`)
    expect(page.body.key).toBeNull()
  })

  test('refers to existing accounts by name, users by email, quantities by shortcode or hash', async () => {
    const { call, seed } = await prepared()
    const first = await seed({
      digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }],
      accounts: [{ name: 'News' }],
      users: [{ email: 'ada@example.test' }],
    })
    const { dq } = first.body.digital_quantities[0]
    const { status, body } = await seed({
      accounts: [{ name: 'Blog', dq }],
      twins: [
        { account: 'News', dq: 'PTS', balance: 1 },
        { user: ' ADA@example.test ', dq, balance: 2 },
      ],
      commodities: [
        { account: 'News', descriptor: 'A', cost: 1 },
        { account: 'Blog', descriptor: 'B', cost: 1, dq: 'PTS' },
      ],
    })
    expect(status).toBe(201)
    const [news] = first.body.accounts
    const token = await tokenFor(call, news.client_id, news.client_secret)
    expect(await balancesOf(call, token, body.twins[0].hostname)).toEqual({ [dq]: 1 })
    expect(body.commodities.map(({ hostname }: any) => hostname)).toEqual([
      news.twin.hostname,
      body.accounts[0].twin.hostname,
    ])
    expect(body.commodities[1].dq).toBe(dq)
  })

  test("prefers its own quantity over the service's with the same shortcode", async () => {
    const { seed } = await prepared()
    const { body } = await seed({
      digital_quantities: [{ name: 'Dollars and cents', shortcode: 'USD', decimals: 2 }],
      accounts: [{ name: 'News' }],
      commodities: [{ account: 'News', descriptor: 'A', cost: 0.25, dq: 'USD' }],
    })
    expect(body.commodities[0].dq).toBe(body.digital_quantities[0].dq)
  })

  test('creates nothing from an empty seed', async () => {
    const { seed, state } = await prepared()
    const before = await state()
    expect((await seed({})).body).toEqual({
      digital_quantities: [],
      accounts: [],
      users: [],
      twins: [],
      commodities: [],
      items: [],
    })
    expect((await state()).rows).toEqual(before.rows)
  })

  const known = {
    digital_quantities: [{ name: 'Points', shortcode: 'PTS', decimals: 0 }],
    accounts: [
      { name: 'News', public_secret: `mp_${hex('1')}`, client_id: `mid_${hex('2')}`, hostname: 'news' },
      { name: 'Twice' },
      { name: 'Twice' },
    ],
    users: [{ email: 'ada@example.test', client_id: `mid_${hex('4')}`, hostname: 'ada' }],
    commodities: [{ account: 'News', descriptor: 'A', cost: 1, hash: HASH }],
  }
  const item = { account: 'News', name: 'Archive', price: 1, external_endpoint: 'https://api.example.test/' }
  const eve = { email: 'eve@example.test' }
  const refusals: [string, number, string, object][] = [
    ['a digital quantity that is there', 409, 'already_exists', { digital_quantities: known.digital_quantities }],
    ['a client id that is there', 409, 'already_exists', { accounts: [{ name: 'A', client_id: `mid_${hex('2')}` }] }],
    ['a client id of a user', 409, 'already_exists', { accounts: [{ name: 'A', client_id: `mid_${hex('4')}` }] }],
    ['a client id of an account', 409, 'already_exists', { users: [{ ...eve, client_id: `mid_${hex('2')}` }] }],
    [
      'a public_secret that is there',
      409,
      'already_exists',
      { accounts: [{ name: 'A', public_secret: `mp_${hex('1')}` }] },
    ],
    ['a hostname that is there', 409, 'already_exists', { accounts: [{ name: 'A', hostname: 'ada' }] }],
    ['a hostname that is there, for a user', 409, 'already_exists', { users: [{ ...eve, hostname: 'news' }] }],
    ['a hostname that is there, for a twin', 409, 'already_exists', { twins: [{ account: 'News', hostname: 'news' }] }],
    ['a commodity that is there', 409, 'already_exists', { commodities: [{ ...known.commodities[0] }] }],
    [
      'a public_secret for two accounts',
      409,
      'already_exists',
      { accounts: ['A', 'B'].map((name) => ({ name, public_secret: `mp_${hex('9')}` })) },
    ],
    ['an email that is there', 409, 'email_taken', { users: [{ email: 'ADA@example.test' }] }],
    ['an email for two users', 409, 'email_taken', { users: [eve, eve] }],
    ['an unknown quantity of an account', 400, 'dq_unknown', { accounts: [{ name: 'A', dq: 'XXX' }] }],
    ['an unknown quantity of a twin', 400, 'dq_unknown', { twins: [{ account: 'News', dq: 'XXX' }] }],
    [
      'an unknown quantity of a commodity',
      400,
      'dq_unknown',
      { commodities: [{ account: 'News', descriptor: 'B', cost: 1, dq: 'XXX' }] },
    ],
    [
      "a commodity of another's twin",
      400,
      'twin_unknown',
      { commodities: [{ account: 'News', descriptor: 'B', cost: 1, hostname: 'ada' }] },
    ],
    [
      'a commodity of no twin',
      400,
      'twin_unknown',
      { commodities: [{ account: 'News', descriptor: 'B', cost: 1, hostname: 'none' }] },
    ],
    ['a negative cost', 400, 'amount_invalid', { commodities: [{ account: 'News', descriptor: 'B', cost: -1 }] }],
    ['a balance below zero', 400, 'amount_invalid', { accounts: [{ name: 'A', balance: -1 }] }],
    ['a balance too fine', 400, 'amount_invalid', { users: [{ ...eve, balance: 0.0001 }] }],
    [
      'an account that nobody made',
      400,
      'field_invalid',
      { commodities: [{ account: 'Nobody', descriptor: 'B', cost: 1 }] },
    ],
    ['an account of a name that two have', 400, 'field_invalid', { twins: [{ account: 'Twice' }] }],
    ['a user that nobody made', 400, 'field_invalid', { twins: [{ user: 'eve@example.test' }] }],
    ['a twin of nobody', 400, 'field_invalid', { twins: [{ dq: 'PTS' }] }],
    ['a twin of two', 400, 'field_invalid', { twins: [{ account: 'News', user: 'ada@example.test' }] }],
    ['a client id of another form', 400, 'field_invalid', { accounts: [{ name: 'A', client_id: 'me' }] }],
    [
      'a hash of another form',
      400,
      'field_invalid',
      { commodities: [{ account: 'News', descriptor: 'B', cost: 1, hash: 'b' }] },
    ],
    ['an item of nobody', 400, 'field_invalid', { items: [{ ...item, account: 'Nobody' }] }],
    ['an item without a name', 400, 'field_invalid', { items: [{ ...item, name: '' }] }],
    [
      'an item that takes what is no schema',
      400,
      'field_invalid',
      { items: [{ ...item, service_schema: { type: 'x' } }] },
    ],
    ['an item of a price below zero', 400, 'amount_invalid', { items: [{ ...item, price: -1 }] }],
    ['an item paid to nobody', 400, 'twin_unknown', { items: [{ ...item, hostname: 'nobody' }] }],
    [
      'an item that nobody calls',
      422,
      'upstream_refused',
      { items: [{ ...item, external_endpoint: 'ftp://a.test/' }] },
    ],
    ['more items than a plan takes', 403, 'plan_limit_reached', { items: Array(26).fill(item) }],
    ['a hostname that would be read as an id', 400, 'field_invalid', { users: [{ ...eve, hostname: '12' }] }],
    ['a hostname in capitals', 400, 'field_invalid', { users: [{ ...eve, hostname: 'EVE' }] }],
    ['what is no email', 400, 'field_invalid', { users: [{ email: 'eve' }] }],
    ['ten decimals', 400, 'field_invalid', { digital_quantities: [{ name: 'N', shortcode: 'N', decimals: 10 }] }],
    ['no name', 400, 'field_invalid', { accounts: [{}] }],
    ['no list', 400, 'field_invalid', { users: eve }],
  ]

  test('creates nothing from a seed with one error', async () => {
    const { seed, state } = await prepared()
    expect((await seed(known)).status).toBe(201)
    const before = (await state()).rows
    const good = { accounts: [{ name: 'Good', balance: 1 }], users: [{ email: 'good@example.test', balance: 1 }] }
    for (const [what, status, code, refused] of refusals) {
      const parts = Object.entries(refused).map(([noun, items]) => [
        noun,
        Array.isArray(items) ? [...((good as Record<string, object[]>)[noun] ?? []), ...items] : items,
      ])
      const { body } = await seed({ ...good, ...Object.fromEntries(parts) })
      expect({ what, status: body.status, code: body.code }).toEqual({ what, status, code })
      expect((await state()).rows, what).toEqual(before)
    }
  })

  test('does not change what was created by hand', async () => {
    const { call, seed } = await prepared()
    const seller = await newSeller(call)
    const { hash } = await newCommodity(call, seller)
    const before = (await call('GET', '/v4/twins', { token: seller.token })).body
    await seed(known)
    expect((await call('GET', '/v4/twins', { token: seller.token })).body).toEqual(before)
    expect((await call('GET', `/v4/commodity/${hash}`)).status).toBe(200)
    expectProblem(await seed(known), 409, 'already_exists')
  })
})
