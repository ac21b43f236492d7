import { afterAll, afterEach, expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { routes } from '../../scripts/route-table.js'
import { once } from '../../src/base/memo.js'
import { createService, type Service } from '../../src/index.js'
import { twins as twinRows } from '../../src/money/twins/twin.js'
import { storageOver } from '../../src/storage/service-storage.js'
import type { Reader, Storage, Writer } from '../../src/storage/storage.js'
import { caller } from '../support/api.js'
import { newItem, purchase } from '../support/scenes/catalog.js'
import { newDelegate, newPersona } from '../support/scenes/personas.js'
import { newWebhook } from '../support/scenes/webhooks.js'
import { newCommodity, newPayer, newReader, newSeller } from '../support/scenes/world.js'

const started: Service[] = []
const afterwards: Service[] = []
afterEach(async () => {
  await Promise.all(started.splice(0).map((service) => service.close()))
})

afterAll(async () => {
  await Promise.all(afterwards.map((service) => service.close()))
})

/** How many rows of each collection there are. */
const ROWS = 5000
/** More rows than any page reads. Two sides of an event, and two pieces of each. */
const MOST_READ = 4500

/** A storage that counts the rows that it gives: all, and those of its largest transaction. */
function countingRows(inner: Storage) {
  const counted = { rows: 0, largest: 0 }
  const count = async <T>(own: { rows: number }, found: Promise<T>): Promise<T> => {
    const rows = await found
    const given = Array.isArray(rows) ? rows.length : 1
    counted.rows += given
    own.rows += given
    counted.largest = Math.max(counted.largest, own.rows)
    return rows
  }
  const reader = (tx: Reader, own = { rows: 0 }): Reader => ({
    get: (from, id) => count(own, tx.get(from, id)),
    getMany: (from, ids) => count(own, tx.getMany(from, ids)),
    find: (from, query) => count(own, tx.find(from, query)),
  })
  const writer = (tx: Writer): Writer => ({
    ...reader(tx),
    nextId: (of) => tx.nextId(of),
    nextIds: (of) => tx.nextIds(of),
    put: (into, row) => tx.put(into, row),
    remove: (from, id) => tx.remove(from, id),
  })
  const storage = storageOver(inner, {
    read: (body) => inner.read((tx) => body(reader(tx))),
    write: (body) => inner.write((tx) => body(writer(tx))),
  })
  return { storage, counted }
}

/** What lists show, and which anybody can have many of. */
const MULTIPLIED = [
  ...['events', 'catalog_items', 'commodities', 'payments', 'purchases', 'transfers', 'webhook_deliveries', 'twins'],
  ...['delegates', 'invoices', 'notification_registrations', 'approvals', 'checkout_refunds', 'sessions'],
]

type Path = (shop: Shop) => readonly [path: string, token: string]
type Shop = Awaited<ReturnType<typeof newShop>>

/** Whom each operation with a page shows what. */
const pages: Readonly<Record<string, Path>> = {
  listUsers: ({ seller }) => ['/v2/users', seller.token],
  listX402Resources: ({ seller }) => ['/x402/discovery/resources', seller.token],
  searchX402Resources: ({ seller }) => ['/x402/discovery/search?query=a', seller.token],
  listTwins: ({ seller }) => ['/v4/twins', seller.token],
  listCommodities: ({ seller }) => ['/v4/commodities', seller.token],
  listPayments: ({ seller }) => ['/v4/payments', seller.token],
  listCommodityTransactions: ({ seller, commodity }) => [`/v4/commodity/${commodity.hash}/transactions`, seller.token],
  listCatalogItems: ({ seller }) => ['/v4/catalog/items', seller.token],
  listOwnCatalogItems: ({ seller }) => ['/v4/catalog/mine', seller.token],
  listPurchases: ({ reader }) => ['/v4/purchases', reader.token],
  listCheckoutRefunds: ({ seller }) => ['/v4/checkout/refunds', seller.token],
  listDelegates: ({ seller, persona }) => [`/v4/persona/${persona.hash}/delegates`, seller.token],
  listTransfers: ({ reader }) => ['/v4/transfers', reader.token],
  listSessions: ({ reader }) => ['/v4/sessions', reader.token],
  listRegistrations: ({ reader }) => ['/v4/notifications/registrations', reader.token],
  listAuthorizations: ({ reader }) => ['/v4/paywall/authorizations', reader.token],
  listEvents: ({ seller }) => ['/v4/events', seller.token],
  listWebhooks: ({ seller }) => ['/v4/webhooks', seller.token],
  listWebhookDeliveries: ({ seller, webhook }) => [`/v4/webhooks/${webhook.id}/deliveries`, seller.token],
  listApprovals: ({ reader }) => ['/v4/approvals', reader.token],
  listInvoices: ({ seller }) => ['/v4/billing/invoices', seller.token],
  listConnections: ({ reader }) => ['/v4/connections', reader.token],
  listTools: ({ seller }) => ['/v4/mcp/tools', seller.token],
}

/** What a stranger might send in a parameter of a list. */
const hostile: Readonly<Record<string, readonly string[]>> = {
  limit: ['1', '100'],
  after: ['1', '999999999'],
  offset: ['0', '1000', '1001', '1000000000', '9007199254740991'],
  query: ['weather', 'w', 'zzz', 'a b c d e f g', 'w-e-a-t-h-e-r'],
  created_after: ['0', '1', '9999999999'],
  type: ['zzz.*', 'client.*', '*', 'payment.created', 'nothing'],
  status: ['pending', 'approved'],
}

/** Made once: it takes longer than what is read of it. */
const theShop = once(newShop)

async function newShop() {
  const { storage, counted } = countingRows(memoryStorage())
  const upstream = { fetch: async () => new Response('ok') }
  const service = createService({ sandbox: true, storage, upstream, limits: { closeMs: 20 }, log: { error() {} } })
  afterwards.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  const reader = await newReader(call, seller, { balance: 10 })
  const commodity = await newCommodity(call, seller)
  const webhook = await newWebhook(call, seller, { events: ['client.done'] })
  await call('POST', '/v4/events', { token: seller.token, body: { type: 'client.done' } })
  await purchase(call, { token: reader.token }, await newItem(call, seller), { arguments: { city: 'Rome' } })
  // Last, so that it is the one that is multiplied.
  await call('POST', `/v4/payment/${commodity.hash}`, { token: reader.token })
  const persona = await newPersona(call, seller)
  await newDelegate(call, seller, { persona: persona.hash, hostname: reader.hostname })
  const body = { address: reader.email, amount: 1 }
  await call('POST', '/v4/transfers', { token: reader.token, body })
  await multiply(storage)
  return { service, call, counted, seller, reader, commodity, webhook, persona }
}

/** Gives each row of these collections thousands of copies, which belong to the same owner. */
async function multiply(storage: Storage): Promise<void> {
  const state = await storage.export()
  const rows = Object.fromEntries(
    Object.entries(state.rows).map(([name, own]) => {
      const last = own.at(-1)
      if (!MULTIPLIED.includes(name) || !last) return [name, own]
      const copies = Array.from({ length: ROWS }, (_, n) => ({
        ...last,
        id: typeof last.id === 'number' ? last.id + n + 1 : `${last.id}${n}`,
        // Fields that no two rows share.
        ...('hostname' in last && name === 'twins' && { hostname: `${n}.twin.localhost`, address: `41${n}` }),
        ...('number' in last && { number: n + 10 }),
        ...('issue' in last && { issue: n + 10 }),
      }))
      return [name, [...own, ...copies]]
    }),
  )
  await storage.import({ ...state, rows })
}

/** How many rows a page shows. */
const rowsOf = (page: Record<string, unknown>): number =>
  Object.values(page).reduce<number>((sum, value) => sum + (Array.isArray(value) ? value.length : 0), 0)

const isPaged = ([, { method, query }]: [string, { method: string; query?: unknown }]) => {
  const shape = (query as { shape?: object } | undefined)?.shape ?? {}
  return method === 'GET' && ['limit', 'offset'].some((name) => name in shape)
}

interface Listed {
  readonly method: string
  readonly path: string
  readonly query?: { readonly shape?: object }
  readonly wholeList?: string
}

const paged = Object.entries(routes as Record<string, Listed>)
  .filter(isPaged)
  .filter(([, { path }]) => !path.startsWith('/_sandbox'))

test('every operation with a page is in this table', () => {
  expect(Object.keys(pages).sort()).toEqual(paged.map(([id]) => id).sort())
})

test('no parameter of a list makes a page read more rows than a page needs', async () => {
  const shop = await theShop()
  const { call, counted } = shop
  const read: Record<string, number> = {}
  const shown: Record<string, number> = {}
  for (const [id, { query, wholeList }] of paged) {
    const [path, token] = pages[id]?.(shop) ?? ['', '']
    const names = Object.keys(query?.shape ?? {})
    const queries = ['', ...names.flatMap((name) => (hostile[name] ?? ['1']).map((value) => `${name}=${value}`))]
    if (names.includes('type')) queries.push('type=zzz.*&limit=100')
    for (const each of queries) {
      counted.rows = counted.largest = 0
      const { status, body } = await call('GET', `${path}?${each}`, { token })
      expect([200, 400], `${id}?${each}: ${JSON.stringify(body)}`).toContain(status)
      if (each === '') shown[id] = rowsOf(body)
      // A list that shows every row without a page is read in slices.
      const isWhole = wholeList !== undefined && !/limit|after/.test(each)
      read[`${id}?${each}`] = isWhole ? counted.largest : counted.rows
    }
  }
  expect(Object.entries(read).filter(([, rows]) => rows > MOST_READ)).toEqual([])
  // A list of our own shows 20 without a limit. One that existing clients read without pages shows every row.
  const wrong = paged.filter(({ 0: id, 1: { wholeList } }) => wholeList === undefined && (shown[id] ?? 0) > 20)
  expect(wrong.map(([id]) => id)).toEqual([])
  expect(Object.entries(shown).filter(([, rows]) => rows === 20).length).toBeGreaterThan(7)
  for (const id of ['listTwins', 'listCommodityTransactions']) expect(shown[id], id).toBeGreaterThan(ROWS)
  // The lists are long, so that one which reads all of them is seen.
  expect(read['listEvents?type=zzz.*']).toBeGreaterThan(1500)
  expect(read['listCatalogItems?offset=1000']).toBeGreaterThan(1000)
  for (const offset of ['1001', '1000000000']) expect(read[`listCatalogItems?offset=${offset}`]).toBeLessThan(10)
})

test('a group of types that nothing matches is looked for page by page to the end', async () => {
  const { call, seller } = await theShop()
  let pages = 0
  for (let after: number | null = 0; after !== null; pages++) {
    const cursor: string = pages === 0 ? '' : `&after=${after}`
    const { body } = await call('GET', `/v4/events?type=zzz.*${cursor}`, { token: seller.token })
    expect(body.events).toEqual([])
    after = body.next
  }
  expect(pages).toBe(3)
})

test('tools are found behind thousands of items that are none, page by page', async () => {
  const { call, seller } = await theShop()
  const read = async (query: string) => (await call('GET', `/v4/mcp/tools${query}`, { token: seller.token })).body
  let pages = 0
  for (let query = '?limit=20', next: number | null = 0; next !== null; pages++) {
    const page = await read(query)
    expect(page.tools).toEqual([])
    next = page.next
    query = `?limit=20&after=${next}`
  }
  expect(pages).toBe(6)
  expect(await read('')).toEqual({ tools: [], next: null })
})

test('a whole list shows the rest though the row that a slice ended with is gone', async () => {
  const storage = memoryStorage()
  const service = createService({ sandbox: true, storage, limits: { closeMs: 20 } })
  started.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const payer = await newPayer(call, await newSeller(call))
  const state = await storage.export()
  const own = state.rows.twins?.find((row) => 'hostname' in row && row.hostname === payer.hostname)
  const twins = Array.from({ length: 250 }, (_, n) => ({
    ...own,
    id: Number(own?.id) + n + 1,
    ...{ hostname: `${n}.twin.localhost`, address: `41${n}` },
  }))
  await storage.import({ ...state, rows: { ...state.rows, twins: [...(state.rows.twins ?? []), ...twins] } })
  const headers = { authorization: `Bearer ${payer.token}` }
  const answer = await service.fetch(new Request(`${service.baseUrl}/v4/twins`, { headers }))
  // The first slice was read, and ends with this one.
  const gone = Number(twins.at(-100)?.id)
  await storage.write(async (tx) => tx.remove(twinRows, gone))
  const shown = JSON.parse(await answer.text()).twins.map(({ id }: { id: number }) => id)
  expect([shown.length, new Set(shown).size]).toEqual([251, 251])
  expect(shown[99]).toBe(gone)
})

test('a tool right behind the items that one page looks at is listed once', async () => {
  const storage = memoryStorage()
  const service = createService({ sandbox: true, storage, limits: { closeMs: 20 } })
  started.push(service)
  const call = caller({ url: service.baseUrl, fetch: service.fetch })
  const seller = await newSeller(call)
  await newItem(call, seller)
  const state = await storage.export()
  const [own] = state.rows.catalog_items ?? []
  // A page looks at 1,000, newest first. This is the next.
  const [newest, tool] = [Number(own?.id) + 1500, Number(own?.id) + 500]
  const items = Array.from({ length: 1500 }, (_, n) => {
    const id = newest - n
    return id === tool ? { ...own, id, featured: true } : { ...own, id, hash: `${n}`.padStart(64, '0') }
  })
  await storage.import({ ...state, rows: { ...state.rows, catalog_items: items } })
  const read = async (query: string) => (await call('GET', `/v4/mcp/tools${query}`, { token: seller.token })).body
  const seen: number[] = []
  for (let query = '?limit=20', next: number | null = 0; next !== null; query = `?limit=20&after=${next}`) {
    const page = await read(query)
    seen.push(...page.tools.map(({ id }: { id: number }) => id))
    next = page.next
  }
  expect(seen).toEqual([tool])
  expect((await read('')).tools.map(({ id }: { id: number }) => id)).toEqual([tool])
})
