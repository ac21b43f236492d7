import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { type Cards, createService, type Seed } from '../../../src/index.js'
import { closedButton, heading, scriptOf, textOf } from '../../support/browser/embed-html.js'
import { contract, type Started } from '../../support/contract/contract.js'
import { expectProblem, UNKNOWN_COMMODITY } from '../../support/scenes/market.js'
import { defaultDq, newCommodity, newSeller, newTwin } from '../../support/scenes/world.js'

const HASH = '00000000-0000-4000-8000-00000000abcd'

const seedOf = (account: object, commodity: object = {}, quantity: object = {}): Seed => ({
  digital_quantities: [{ name: 'Coins', shortcode: 'COIN', decimals: 3, ...quantity }],
  accounts: [{ name: 'Press', hostname: 'press.twin.localhost', dq: 'COIN', ...account }],
  commodities: [{ account: 'Press', descriptor: 'NEWS.ARTICLE', cost: 0.25, dq: 'COIN', hash: HASH, ...commodity }],
})

/** The embed's page, as text. */
async function open({ call }: Started, query: Record<string, string> = {}): Promise<string> {
  const { status, text } = await call('GET', `/v4/embed/${HASH}?${new URLSearchParams(query)}`)
  expect(status).toBe(200)
  return text
}

/** What the page's own style values became. */
const declared = (html: string): string => /<style>:root\{([^<]*)\}<\/style>/.exec(html)?.[1] ?? ''

contract('embedPayment', (start) => {
  test('is a page under every version that clients use', async () => {
    const { call } = await start({ seed: seedOf({}) })
    for (const version of ['v2', 'v4']) {
      const { headers, text } = await call('GET', `/${version}/embed/${HASH}`)
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(text).toMatch(/^<!doctype html>\n<html lang="en">/)
      expect(text).toContain('<title>Pay Press</title>')
      expect(text).toContain('name="viewport"')
    }
  })

  test('shows the payee, the receipt line and the price', async () => {
    const html = await open(await start({ seed: seedOf({ businessName: 'The Press, Ltd.' }) }))
    expect(heading(html)).toBe('The Press, Ltd.')
    expect(textOf(html)).toContain('The Press, Ltd.NEWS.ARTICLE0.25 COIN')
    expect(closedButton(html)).toBe('Pay 0.25 COIN')
  })

  test("shows the seller's business name, or the hostname of the twin", async () => {
    const named = await open(await start({ seed: seedOf({}) }))
    expect(heading(named)).toBe('Press')
    const { call } = await start()
    const { hash, hostname } = await newCommodity(call, await newSeller(call))
    expect(heading((await call('GET', `/v4/embed/${hash}`)).text)).toBe(hostname)
  })

  test("shows the page's texts before and after the price on the closed button", async () => {
    const started = await start({ seed: seedOf({}) })
    const label = async (query: Record<string, string>) => closedButton(await open(started, query))
    expect(await label({ leading: 'Read for' })).toBe('Read for 0.25 COIN')
    expect(await label({ middle: 'to read', trailing: 'now' })).toBe('Pay 0.25 COIN to read now')
    expect(await label({ leading: ' ', middle: '', trailing: '\n' })).toBe('Pay 0.25 COIN')
    expect((await label({ leading: 'a'.repeat(500) })).length).toBeLessThan(120)
  })

  test.each([
    [0.25, 3, undefined, '0.25'],
    [0.5, 3, undefined, '0.50'],
    [0.125, 3, undefined, '0.125'],
    [20, 3, undefined, '20.00'],
    [0, 3, undefined, '0.00'],
    [7, 0, undefined, '7'],
    [0.1, 1, undefined, '0.1'],
    [0.125, 3, '2', '0.13'],
    [0.124, 3, '2', '0.12'],
    [0.25, 3, '4', '0.2500'],
    [1.5, 3, '0', '2'],
    [0.25, 3, '0', '0.25'],
    [0.25, 3, 'many', '0.25'],
    [8796093022207.999, 3, undefined, '8796093022207.999'],
  ])(
    'shows a price of %d with %d decimals and decimalPoints %s as %s',
    async (cost, decimals, decimalPoints, shown) => {
      const started = await start({ seed: seedOf({}, { cost }, { decimals }) })
      const html = await open(started, decimalPoints === undefined ? {} : { decimalPoints })
      expect(closedButton(html)).toBe(`Pay ${shown} COIN`)
    },
  )

  test('rounds only on the closed button: the dialog shows the exact price', async () => {
    const html = await open(await start({ seed: seedOf({}, { cost: 0.125 }) }), { decimalPoints: '1' })
    expect(closedButton(html)).toBe('Pay 0.1 COIN')
    expect(textOf(html)).toContain('NEWS.ARTICLE0.125 COIN')
  })

  test('escapes every text', async () => {
    const evil = `"><img src=x onerror=alert(1)><script>alert(1)</script>`
    const started = await start({ seed: seedOf({ businessName: evil }, { descriptor: evil }) })
    const html = await open(started, { leading: evil, middle: evil, trailing: evil, theme: evil, style: evil })
    expect(html).not.toContain('<img')
    expect(html.match(/<script/g)).toHaveLength(1)
    expect(heading(html)).toBe(evil)
    expect(closedButton(html)).toBe(`${evil} 0.25 COIN ${evil} ${evil}`)
  })

  test("uses the page's theme, or the reader's by default", async () => {
    const started = await start({ seed: seedOf({}) })
    expect(await open(started, { theme: 'dark' })).toContain('<html lang="en" data-theme="dark">')
    expect(await open(started, { theme: 'light' })).toContain('<html lang="en" data-theme="light">')
    expect(await open(started, { theme: 'blue' })).toContain('<html lang="en">')
  })

  test("uses the page's style values", async () => {
    const started = await start({ seed: seedOf({}) })
    const style = {
      colorPrimary: 'RebeccaPurple',
      colorBackground: 'hsl(60, 100%, 90%)',
      colorText: '#123',
      colorError: 'rgb(200 10 20)',
      colorSuccess: '#0a0',
      colorWarning: 'orange',
      borderRadius: '4px 8px',
      border: 'rgb(1, 2, 3) 2px dashed',
      fontFamily: `"Open Sans", 'Noto', system-ui`,
      padding: '0.5em 1rem',
      spacingUnit: '5px',
    }
    expect(declared(await open(started, { style: JSON.stringify(style) }))).toBe(
      '--text:#112233;--background:#ffffcc;--primary:#663399;--on-primary:#ffffff;' +
        '--error:#c80a14;--success:#00aa00;--warning:#ffa500;--radius:4px 8px;--border:2px dashed #010203;' +
        '--font:"Open Sans","Noto",system-ui;--padding:0.5em 1rem;--unit:5px;',
    )
  })

  test.each([
    ['colorPrimary', 'red;}body{display:none'],
    ['colorPrimary', 'url(https://evil.test/x)'],
    ['colorPrimary', 'var(--text)'],
    ['colorPrimary', 'rgba(0, 0, 0, 0.5)'],
    ['colorPrimary', 'rgb(300 0 0)'],
    ['colorPrimary', 'rgb(1 2)'],
    ['colorPrimary', 'hsl(0 200% 50%)'],
    ['colorPrimary', '#12345'],
    ['colorPrimary', 'toString'],
    ['colorBackground', 'transparent'],
    ['borderRadius', '4px;color:red'],
    ['borderRadius', 'calc(100% - 4px)'],
    ['borderRadius', '1px 2px 3px 4px 5px'],
    ['borderRadius', '-4px'],
    ['borderRadius', '9000px'],
    ['border', '1px solid red, 1px solid blue'],
    ['border', '99px solid red'],
    ['border', 'solid solid'],
    ['border', 'url(x) solid'],
    ['fontFamily', 'x;}body{display:none'],
    ['fontFamily', 'x", url("y'],
    ['fontFamily', '</style><script>alert(1)</script>'],
    ['padding', '1vw'],
    ['spacingUnit', '4px 4px'],
    ['spacingUnit', '400px'],
    ['background', 'red'],
  ])('drops %s: %s', async (name, value) => {
    const started = await start({ seed: seedOf({}) })
    expect(declared(await open(started, { style: JSON.stringify({ [name]: value }) }))).toBe('')
  })

  test.each([
    '{',
    'null',
    '7',
    '"red"',
    '[]',
    JSON.stringify({ colorPrimary: 7 }),
    `{"colorText":"${'a'.repeat(5000)}"}`,
  ])('ignores a style that is %s', async (style) => {
    const started = await start({ seed: seedOf({}) })
    expect(declared(await open(started, { style }))).toBe('')
  })

  test('keeps its text readable in every colour', async () => {
    const started = await start({ seed: seedOf({}) })
    const inks = async (colors: object, theme = 'light') =>
      declared(await open(started, { theme, style: JSON.stringify(colors) }))
    expect(await inks({ colorText: '#eee' })).toBe('')
    expect(await inks({ colorText: '#eee' }, 'dark')).toBe('--text:#eeeeee;')
    expect(await inks({ colorBackground: 'black' })).toBe('--text:#ffffff;--background:#000000;')
    expect(await inks({ colorText: 'white', colorBackground: 'ivory' })).toBe('--text:#000000;--background:#fffff0;')
    expect(await inks({ colorPrimary: 'yellow' })).toBe('--primary:#ffff00;--on-primary:#000000;')
  })

  test('runs and loads only its own resources, in frames of any page', async () => {
    const { call } = await start({ seed: seedOf({}) })
    const style = encodeURIComponent(JSON.stringify({ colorPrimary: 'teal' }))
    const { headers, text } = await call('GET', `/v4/embed/${HASH}?style=${style}`)
    const policy = new Map(
      (headers.get('content-security-policy') ?? '').split('; ').map((directive) => {
        const [name = '', ...values] = directive.split(' ')
        return [name, values] as const
      }),
    )
    const hashes = (tag: string) =>
      [...text.matchAll(new RegExp(`<${tag}[^>]*>(.*?)</${tag}>`, 'gs'))].map(
        ([, inner = '']) => `'sha256-${createHash('sha256').update(inner).digest('base64')}'`,
      )
    expect(Object.fromEntries(policy)).toEqual({
      'default-src': ["'none'"],
      'base-uri': ["'none'"],
      'form-action': ["'none'"],
      'frame-ancestors': ['*'],
      'img-src': ['data:'],
      'connect-src': ["'self'"],
      'style-src': hashes('style'),
      'script-src': hashes('script'),
    })
    expect(hashes('style')).toHaveLength(2)
    expect(headers.get('x-frame-options')).toBeNull()
  })

  test('shows a page if nothing is for sale', async () => {
    const { url, fetch, call } = await start()
    for (const path of [`/v4/embed/${UNKNOWN_COMMODITY}`, '/v2/embed/x?theme=dark']) {
      const answer = await fetch(new Request(url + path))
      expect(answer.status).toBe(404)
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(textOf(await answer.text())).toContain('This is not for sale.')
    }
    const json = { headers: { accept: 'application/json' } }
    expectProblem(await call('GET', `/v4/embed/${UNKNOWN_COMMODITY}`, json), 404, 'not_found')
  })

  test('refuses invalid parameters, and answers in every mode', async () => {
    const { call } = await start({ seed: seedOf({}) })
    expectProblem(await call('GET', '/v4/embed/%ff'), 400, 'path_malformed')
    expectProblem(await call('GET', `/v4/embed/${HASH}?theme=light&theme=dark`), 400, 'field_invalid')
    const strict = await start({ seed: seedOf({}), evidence: 'documented' })
    expect((await strict.call('GET', `/v4/embed/${HASH}`)).status).toBe(200)
  })
})

contract('embedPayment of a free commodity', (start) => {
  test('says that it is a sign-in, and has the same title', async () => {
    const html = await open(await start({ seed: seedOf({}, { cost: 0 }) }))
    expect(closedButton(html)).toBe('Pay 0.00 COIN')
    expect(html).toContain('<title>Sign in: Press</title>')
    expect(textOf(html)).toContain('Sign in to continue.')
    expect(html).toMatch(/id="pay-step".*value="go">Continue<.*<\/form>/s)
    expect(html).not.toContain('value="go">Pay<')
  })
})

test('only a sandbox offers test funds, and only a service that charges cards a top-up', async () => {
  const shared = { storage: memoryStorage(), encryptionKey: '0f'.repeat(32) }
  const unavailable = async () => ({ status: 'unavailable' }) as const
  const cards: Cards = { save: unavailable, charge: unavailable, refund: () => new Promise(() => {}) }
  const offered = async (options: object) => {
    const service = createService({ ...shared, ...options })
    const text = await (await service.fetch(`/v4/embed/${HASH}`)).text()
    return ['_sandbox', 'Add test funds', 'id="top-up"', 'id="funds"'].filter((part) => text.includes(part))
  }
  expect(await offered({ sandbox: true, seed: seedOf({}) })).toEqual([
    ...['_sandbox', 'Add test funds', 'id="top-up"', 'id="funds"'],
  ])
  expect(await offered({})).toEqual([])
  expect(await offered({ cards })).toEqual(['id="top-up"', 'id="funds"'])
})

contract('the scripts of embeds', (start) => {
  test('contain only what each needs', { tags: ['everywhere', 'pages'] }, async () => {
    const { call } = await start({ seed: seedOf({}) })
    const seller = await newSeller(call)
    const { id } = await newTwin(call, seller.token)
    const order = { token: seller.token }
    const commodity = { descriptor: 'X', dq: await defaultDq(call), cost: 1, twin_id: id, payback: true }
    const { hash } = (await call('POST', '/v4/commodity', { ...order, body: commodity })).body
    const persona = (await call('POST', '/v4/persona', { ...order, body: { name: 'X', twin_id: id } })).body
    const scripts = new Map<string, string>()
    for (const path of [`embed/${HASH}`, `payback/embed/${hash}`, `verify/embed/${persona.hash}`])
      scripts.set(path.split('/')[0] as string, scriptOf((await call('GET', `/v4/${path}`)).text))
    const calls = ['/v4/payment/', '/v4/session/page', '/v4/payback/', '/v2/twin/nonce', '/v4/persona/']
    const callsIn = (name: string) => calls.filter((path) => scripts.get(name)?.includes(path))
    expect(callsIn('embed')).toEqual(['/v4/payment/', '/v4/session/page'])
    expect(callsIn('payback')).toEqual(['/v4/payback/'])
    expect(callsIn('verify')).toEqual(['/v2/twin/nonce', '/v4/persona/'])
    // Only paying has funds to add, and shows what is paid.
    for (const [name, script] of scripts)
      expect(gzipSync(script).byteLength, name).toBeLessThan(name === 'embed' ? 7936 : 6656)
  })
})

contract('readElementScript', (start) => {
  test('is a module for any page', { tags: ['everywhere', 'pages', 'worker'] }, async () => {
    const { call } = await start()
    const { headers, text } = await call('GET', '/micropay.js', { headers: { origin: 'https://shop.example.test' } })
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(headers.get('access-control-allow-origin')).toBe('https://shop.example.test')
    expect(headers.get('x-evidence')).toBe('observed')
    expect(text).toMatch(/export\s*\{\w+ as loadMicroPayments\}/)
    expect(text).not.toMatch(/\bimport\s*[{"'(]/)
  })

  test('has at most 4 KB compressed', async () => {
    const { call } = await start()
    expect(gzipSync((await call('GET', '/micropay.js')).text).byteLength).toBeLessThanOrEqual(4096)
  })

  test('is sent again only after a change', async () => {
    const { url, fetch, call } = await start()
    const etag = (await call('GET', '/micropay.js')).headers.get('etag') ?? ''
    const ask = (known: string) => fetch(new Request(`${url}/micropay.js`, { headers: { 'if-none-match': known } }))
    const again = await ask(etag)
    expect({ status: again.status, text: await again.text() }).toEqual({ status: 304, text: '' })
    expect(again.headers.get('etag')).toBe(etag)
    expect((await ask('"other"')).status).toBe(200)
  })

  test('is sent in every mode', { tags: 'everywhere' }, async () => {
    const { call } = await start({ evidence: 'documented' })
    expect((await call('GET', '/micropay.js')).status).toBe(200)
  })
})
