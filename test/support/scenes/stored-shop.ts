import { copyStored } from '../../../adapters/storage/file/backup.js'
import { fileStorage } from '../../../adapters/storage/file.js'
import { refuseFile } from '../../../sandbox/refusal.js'
import { createService, type Service } from '../../../src/index.js'

/**
 * A shop on a file storage, and a client that notes what each of its calls was answered. A process without a test runner
 * can use it too.
 */

/** Longer than what a row holds. */
const STORY = 'The whole story. '.repeat(1500)

/** What the client needs to know. */
export interface Shop {
  /** The data file. */
  readonly file: string
  readonly payer: { readonly token: string; readonly hostname: string }
  readonly seller: { readonly token: string; readonly hostname: string }
  readonly hash: string
  readonly itemId: number
}

/** One call that pays, under an `Idempotency-Key` of its own. */
export interface Order {
  readonly key: string
  readonly path: string
  readonly body: object
}

/** What the client knows about an order. An order without a status got no answer. */
export interface Ordered extends Order {
  status?: number
  text?: string
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: any
}

export interface Life {
  readonly ordered: Ordered[]
  /** The messages of what else failed: opening, closing, the backup, the import. */
  readonly failures: Error[]
  /** How many orders were answered when the backup was whole. Undefined if there is none. */
  backup: number | undefined
}

export async function ask(
  service: Service,
  method: string,
  path: string,
  { token, key, body }: { token?: string; key?: string; body?: object | string } = {},
): Promise<Answer> {
  const response = await service.fetch(
    new Request(service.baseUrl + path, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(key !== undefined && { 'idempotency-key': key }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    }),
  )
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? undefined : JSON.parse(text) }
}

/** Opens the storage so that a few calls fill a part of its journal, and some more let it rewrite the data file. */
export async function openShop(file: string, { wholeLimit = 0 } = {}): Promise<Service> {
  const storage = await fileStorage({ file, journalLimit: 24_000, partBytes: 9000, wholeLimit, warn: () => {} })
  return createService({
    storage,
    sandbox: true,
    upstream: { fetch: async () => new Response(STORY, { headers: { 'content-type': 'text/plain' } }) },
    log: { error: () => {} },
    limits: { closeMs: 100 },
  })
}

export const backupOf = ({ file }: Pick<Shop, 'file'>): string => file.replace(/[^/]*$/, 'backup.json')

const payment = ({ hash }: Shop, key: string): Order => ({ key, path: `/v4/payment/${hash}`, body: {} })

const purchase = ({ itemId }: Shop, key: string): Order => ({
  key,
  path: `/v4/catalog/items/${itemId}/purchases`,
  body: { arguments: { city: 'Oslo' } },
})

/** Sends an order. Another call with its key tells how it ended. */
export const send = (service: Service, { payer }: Shop, { key, path, body }: Order): Promise<Answer> =>
  ask(service, 'POST', path, { token: payer.token, key, body })

/**
 * Opens the storage, uses all that it has, closes it, and opens it once more. Goes on after each failure. `note` sees
 * the life whenever an order begins or is answered.
 */
export async function useShop(shop: Shop, life: Life, note: (life: Life) => void = () => {}): Promise<void> {
  const order = async (service: Service, each: Order) => {
    const ordered: Ordered = { ...each }
    life.ordered.push(ordered)
    note(life)
    const { status, text } = await send(service, shop, each)
    Object.assign(ordered, { status, text })
    note(life)
  }
  const attempt = (job: Promise<unknown>) => job.catch((error: Error) => void life.failures.push(error))

  const first = await opened(shop, life)
  await order(first, payment(shop, 'a'))
  await order(first, purchase(shop, 'b'))
  await Promise.all(['c', 'd', 'e'].map((key) => order(first, payment(shop, key))))
  const before = life.ordered.length
  await attempt(
    copyStored(shop.file, backupOf(shop)).then(
      () => void (life.backup = before),
      (error: unknown) => refuseFile('write', 'the backup', error),
    ),
  )
  for (const key of ['f', 'g']) await order(first, payment(shop, key))
  // It breaks off if it cannot be read.
  const snapshot = await ask(first, 'GET', '/_sandbox/snapshot').catch(() => undefined)
  if (snapshot?.status === 200) await ask(first, 'PUT', '/_sandbox/snapshot', { body: snapshot.text })
  await Promise.all([purchase(shop, 'h'), payment(shop, 'i'), payment(shop, 'j')].map((each) => order(first, each)))
  for (const key of ['k', 'l', 'm']) await order(first, payment(shop, key))
  await attempt(first.close())
  const second = await opened(shop, life)
  await order(second, payment(shop, 'n'))
  await attempt(second.close())
}

/** Opens the storage, and tries again if that fails, as whoever runs it does. */
async function opened({ file }: Shop, { failures }: Life): Promise<Service> {
  for (let attempt = 1; ; attempt++)
    try {
      return await openShop(file)
    } catch (error) {
      failures.push(error as Error)
      if (attempt === 5) throw error
    }
}
