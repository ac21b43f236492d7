import { readdir, readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { LONGEST_EMAIL } from '../../src/base/text/email.js'
import { parsedUrl } from '../../src/base/text/foreign-url.js'
import { createService, type Service } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { newItem } from '../support/scenes/catalog.js'
import { newCommodity, newReader, newSeller, newSession, type Payer, type Seller } from '../support/scenes/world.js'

/**
 * Marks on one letter are sorted one by one when a text is normalized or a host is parsed: 40 KB of them take seconds, and
 * a megabyte takes an hour. No expression is involved, so these tests count what the platform is given.
 */
const MARKS = `a${'\u0301\u0323'.repeat(10_000)}`
const AS_EMAIL = `${MARKS}@example.test`
const AS_URL = `https://${MARKS}.example.test/`

interface Given {
  readonly normalized: number
  readonly hosts: number
}

/** The longest text that was normalized meanwhile, and the longest that was parsed as a URL. Neither is really done. */
async function longestOf(job: () => Promise<unknown>): Promise<Given> {
  const given = { normalized: 0, hosts: 0 }
  const Native = URL
  /** The text with a short host in the place of a long one. */
  const noted = (text: string | URL) => {
    const [head = ''] = /^[^/?#]*\/\/[^/?#]*/.exec(String(text)) ?? []
    given.hosts = Math.max(given.hosts, head.length)
    return head.length > 10_000 ? `https://a.example.test${String(text).slice(head.length)}` : text
  }
  vi.stubGlobal(
    'URL',
    class extends Native {
      constructor(text: string | URL, base?: string | URL) {
        super(noted(text), base)
      }
      static override canParse(text: string | URL, base?: string | URL): boolean {
        return Native.canParse(noted(text), base)
      }
    },
  )
  const normalize = vi.spyOn(String.prototype, 'normalize').mockImplementation(function (this: string) {
    given.normalized = Math.max(given.normalized, this.length)
    return String(this)
  })
  try {
    await job()
  } finally {
    normalize.mockRestore()
  }
  return given
}

let service: Service
let call: Call
let [seller, user, session, itemId, hash]: [Seller?, Payer?, string?, number?, string?] = []
beforeAll(async () => {
  service = createService({ sandbox: true })
  call = caller({ url: service.baseUrl, fetch: service.fetch })
  seller = await newSeller(call)
  user = await newReader(call, seller, { email: 'ada@example.test' })
  session = await newSession(call, 'ada@example.test')
  itemId = (await newItem(call, seller)).id
  hash = (await newCommodity(call, seller)).hash
  return () => service.close()
})
afterEach(() => vi.unstubAllGlobals())

const link = (field: string) => ({ body: { catalog_item_id: itemId, arguments: { city: 'Oslo' }, [field]: AS_URL } })

const attacks: Readonly<Record<string, () => Promise<unknown>>> = {
  'readUser email': () =>
    call('GET', `/v4/user/${user?.id}?email=${encodeURIComponent(AS_EMAIL)}`, { token: seller?.token ?? '' }),
  'sendSessionCode email': () =>
    call('POST', '/v4/session/code', { session: session ?? '', body: { email: AS_EMAIL } }),
  'verifySessionCode email': () =>
    call('POST', '/v4/session/verify', { session: session ?? '', body: { email: AS_EMAIL, code: '123456' } }),
  'createTransfer address': () =>
    call('POST', '/v4/transfer', { token: user?.token ?? '', body: { address: AS_EMAIL, amount: 1 } }),
  'createCheckout success_url': () => call('POST', '/v4/checkout', link('success_url')),
  'createCheckout cancel_url': () => call('POST', '/v4/checkout', link('cancel_url')),
  'createPageSession origin': () =>
    call('POST', '/v4/session/page', {
      session: session ?? '',
      body: { origin: AS_URL.slice(0, -1), hash },
    }),
  'createMerchantPayment destinationUrl': () =>
    call('POST', '/v3/paywall', {
      session: session ?? '',
      body: { paymentTypeHash: 'USD', amount: 1, destinationUrl: AS_URL },
    }),
  'callPaywall serviceUrl': () =>
    call('POST', '/v4/paywall', { token: user?.token ?? '', body: { serviceUrl: AS_URL, amount: 1 } }),
}

test.each(Object.entries(attacks))('marks without end are neither sorted nor parsed: %s', async (_, attack) => {
  const { normalized, hosts } = await longestOf(attack)
  expect(normalized).toBeLessThanOrEqual(LONGEST_EMAIL)
  expect(hosts).toBeLessThanOrEqual(2048)
})

test('a host is parsed if it is no longer than any host, whatever follows it', () => {
  const long = 'a'.repeat(5000)
  for (const url of [
    `https://a.example.test/${long}`,
    `https://a.example.test?${long}`,
    `https://ada:b@a.example.test#${long}`,
  ])
    expect(parsedUrl(url)?.hostname).toBe('a.example.test')
  const hidden = [
    `https:////${long}.test/`,
    `https:\\\\${long}.test/`,
    `https:${long}.test/`,
    `ht\ntps://${long}.test/`,
  ]
  for (const url of [
    AS_URL,
    ...hidden,
    `https:/\t/a${long}.test/`,
    `https://\t/${long}/a`,
    `https:${'/'.repeat(3000)}a.test/`,
  ])
    expect(parsedUrl(url)).toBeUndefined()
  expect(parsedUrl('no url')).toBeUndefined()
})

/** Who gives a text to what sorts its marks, and why it is short. Everybody else calls `parsedUrl` or `normalEmail`. */
const reasons: Readonly<Record<string, string>> = {
  'src/agents/bazaar/description.ts': 'It looks at the length before.',
  'src/base/text/email.ts': 'It looks at the length before.',
  'src/base/text/foreign-url.ts': 'It looks at the length before.',
  'src/http/routing/router.ts': 'A head of 16 KB holds the address, and a failed request has passed its parser before.',
  'src/market/billing/pdf/typeface.ts':
    'It holds one letter, or a line of a profile, which has at most 1,000 characters.',
  'src/market/catalog/item.ts': 'The name of an item has at most 64 characters.',
  'src/market/embeds/browser/parent.client.ts': 'It runs in the browser of whoever wrote it.',
}

test('only these sort the marks of a text', async () => {
  const root = resolve(import.meta.dirname, '../../src')
  const files = (await readdir(root, { recursive: true })).filter((name) => /\.tsx?$/.test(name))
  const found: string[] = []
  for (const name of files)
    if (
      /\.normalize\(|\bURL\.(canParse|parse)\b|localeCompare|Intl\./.test(await readFile(resolve(root, name), 'utf8'))
    )
      found.push(`src/${name.replaceAll('\\', '/')}`)
  expect(found.sort()).toEqual(Object.keys(reasons).sort())
})
