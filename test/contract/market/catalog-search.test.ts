import { expect, it } from 'vitest'
import { contract } from '../../support/contract/contract.js'
import { startWith } from '../../support/contract/prepared.js'
import { changeItem, newItem, newShop } from '../../support/scenes/catalog.js'
import { advance, expectProblem, stopClock } from '../../support/scenes/market.js'
import { paywall } from '../../support/scenes/paywall.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { newPayer, newSeller } from '../../support/scenes/world.js'

const upstream = useUpstream()

const names = (body: { items: { name: string }[] }): string[] => body.items.map(({ name }) => name)

contract('listCatalogItems', (start) => {
  it('GET /v4/catalog/items lists active public items that are not archived, newest first, without endpoints', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    for (const name of ['One', 'Two']) await newItem(call, seller, { name })
    await newItem(call, seller, { name: 'Hidden', private: true })
    await newItem(call, seller, { name: 'Asleep', active: false })
    const { id } = await newItem(call, seller, { name: 'Gone' })
    await call('POST', `/v4/catalog/items/${id}/archive`, { token: seller.token })
    const { external_endpoint, ...three } = await newItem(call, await newSeller(call), { name: 'Three' })
    const { status, body } = await call('GET', '/v4/catalog/items')
    expect([status, names(body), body.total]).toEqual([200, ['Three', 'Two', 'One'], 3])
    expect([body.items[0], external_endpoint]).toEqual([three, expect.any(String)])
  })

  it('returns the fields that storefronts need', async () => {
    const { call } = await start()
    await newShop(call)
    const { body } = await call('GET', '/v4/catalog/items?limit=100&offset=0')
    expect(body.items[0]).toMatchObject({
      commodity_name: 'City weather',
      commodity_description: 'The weather of a city, by the hour.',
      commodity_cost: 0.25,
      service_method: 'GET',
      service_schema: { type: 'object', required: ['city'] },
      active: true,
    })
  })

  it('finds items that have words with these beginnings in name, description or seller, in upper or lower case', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    await call('PUT', '/v4/account', { token: seller.token, body: { businessName: 'Nordlicht GmbH' } })
    await newItem(call, seller, { name: 'Café finder', description: 'Finds places (50% off_peak).' })
    await newItem(call, seller, { name: 'Weather', description: 'In every place.' })
    await newItem(call, await newSeller(call), { name: 'Weather', description: 'Elsewhere.' })
    const find = async (query: string) =>
      names((await call('GET', `/v4/catalog/items?query=${encodeURIComponent(query)}`)).body)
    expect(await find('NORDLICHT')).toEqual(['Weather', 'Café finder'])
    expect(await find('  place   weather ')).toEqual(['Weather'])
    expect(await find('café nordlicht')).toEqual(['Café finder'])
    expect(await find('50%')).toEqual(['Café finder'])
    expect(await find('weather')).toEqual(['Weather', 'Weather'])
    expect(await find('weather café')).toEqual([])
    expect(await find('.*')).toEqual([])
    expect(await find('wea')).toEqual(['Weather', 'Weather'])
    expect(await find('eather')).toEqual([])
    expect(await find('off_peak nord')).toEqual(['Café finder'])
    expect(await find('peak_off')).toEqual([])
    expect(await find(' ')).toHaveLength(3)
  })

  it('follows every change: of names, of the seller, of what is listed', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const { token } = seller
    const item = await newItem(call, seller, { name: 'Tides', description: 'Of the sea.' })
    const find = async (query: string) => {
      const { body } = await call('GET', `/v4/catalog/items?query=${encodeURIComponent(query)}`)
      return [...names(body), body.total]
    }
    expect([await find('tides'), await find('sea'), await find(item.hostname)]).toEqual(Array(3).fill(['Tides', 1]))
    await changeItem(call, seller, item, { name: 'Waves' })
    expect([await find('tides'), await find('waves'), await find('sea')]).toEqual([[0], ['Waves', 1], ['Waves', 1]])
    await call('PUT', '/v4/account', { token, body: { name: 'Harbour' } })
    expect(await find('harbour waves')).toEqual(['Waves', 1])
    await call('PUT', '/v4/account', { token, body: { name: 'Port' } })
    expect([await find('harbour'), await find('port')]).toEqual([[0], ['Waves', 1]])
    for (const [change, listed] of [
      [{ private: true }, false],
      [{ private: false }, true],
      [{ active: false }, false],
      [{ active: true }, true],
    ] as const) {
      await changeItem(call, seller, item, change)
      expect([await find('waves'), (await call('GET', '/v4/catalog/items')).body.total]).toEqual(
        listed ? [['Waves', 1], 1] : [[0], 0],
      )
    }
    await call('POST', `/v4/catalog/items/${item.id}/archive`, { token })
    expect(await find('waves')).toEqual([0])
  })

  it('finds characters of scripts without spaces, and cuts words that are too long', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    await newItem(call, seller, { name: '東京の天気', description: 'x'.repeat(100) })
    const find = async (query: string) =>
      (await call('GET', `/v4/catalog/items?query=${encodeURIComponent(query)}`)).body.total
    expect([await find('天気'), await find('東京'), await find('気天')]).toEqual([1, 1, 0])
    expect([await find('x'.repeat(100)), await find('x'.repeat(101)), await find('X'.repeat(40))]).toEqual([1, 0, 1])
  })

  it('has pages by limit and offset, and the total', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    await call('PUT', '/v4/account', { token: seller.token, body: { name: 'Ada' } })
    for (let n = 1; n <= 25; n++) await newItem(call, seller, { name: `Item ${n}` })
    const page = async (query: string) => {
      const { body } = await call('GET', `/v4/catalog/items${query}`)
      return [body.items.length, body.items[0]?.name, body.total]
    }
    expect(await page('')).toEqual([20, 'Item 25', 25])
    expect(await page('?offset=20')).toEqual([5, 'Item 5', 25])
    expect(await page('?limit=3&offset=3')).toEqual([3, 'Item 22', 25])
    expect(await page('?offset=25')).toEqual([0, undefined, 25])
    expect(await page('?query=item+1&limit=2')).toEqual([2, 'Item 19', 11])
  })

  it('lists items that were created after a time', async () => {
    const { call } = await start()
    const at = await stopClock(call)
    const seller = await newSeller(call)
    await newItem(call, seller, { name: 'Before' })
    await advance(call, '1h')
    const { token } = await newSeller(call)
    await newItem(call, { token }, { name: 'After' })
    const since = async (time: string) => names((await call('GET', `/v4/catalog/items?created_after=${time}`)).body)
    expect(await since(`${at / 1000}`)).toEqual(['After'])
    expect(await since(`${at / 1000 - 1}`)).toEqual(['After', 'Before'])
    expect(await since(new Date(at + 3_600_000).toISOString())).toEqual([])
  })

  it.each([
    ['limit', '0'],
    ['limit', '101'],
    ['offset', '-1'],
    ['created_after', 'yesterday'],
    ['query', 'x'.repeat(257)],
  ])('refuses another %s than it takes ', async (name, value) => {
    const { call } = await start()
    expectProblem(await call('GET', `/v4/catalog/items?${name}=${value}`), 400, 'field_invalid')
  })
})

contract('callPaywall for a catalog item', (start) => {
  it('pays the twin of the item with exactly this URL by default', async () => {
    const { call, made: seller } = await startWith(start, newSeller)
    const serviceUrl = `${upstream.url}/ok/story?page=1`
    const item = await newItem(call, seller, { external_endpoint: serviceUrl })
    const { token } = await newPayer(call, seller, { balance: 10 })
    const ask = (url: string) => paywall(call, { token }, { amount: 0.5, serviceUrl: url })
    expect((await ask(serviceUrl)).status).toBe(200)
    const [payment] = (await call('GET', '/v4/payments', { token })).body.payments
    expect(payment).toMatchObject({ kind: 'paywall', amount: 0.5, payee_hostname: item.hostname })
    expectProblem(await ask(`${upstream.url}/ok/story`), 400, 'destination_unknown')
    await changeItem(call, seller, item, { active: false })
    expectProblem(await ask(serviceUrl), 400, 'destination_unknown')
  })
})
