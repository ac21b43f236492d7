import { afterEach, describe, expect, test } from 'vitest'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService, type Service, type ServiceOptions } from '../../src/index.js'
import type { Storage } from '../../src/storage/storage.js'
import { type Answer, type Call, type CallOptions, caller } from '../support/api.js'
import { type CartItem, filledCart, newItem, payCart, readCart } from '../support/scenes/carts.js'
import { advance, expectProblem, expectSoundLedger } from '../support/scenes/market.js'
import { balanceOf, newPayer, newSeller, type Payer } from '../support/scenes/world.js'
import { failingStorage } from '../support/storage/failing-storage.js'
import { useFileStorages } from '../support/storage/file-storages.js'

const files = useFileStorages()
const storages: Record<string, () => Promise<Storage>> = {
  memory: async () => memoryStorage(),
  'memory, every write run twice': async () => memoryStorage({ rerun: true }),
  file: () => files.open(),
}

/** Endpoints whose calls are answered as the test says: by the last part of the path. */
class Endpoints {
  readonly called: string[] = []
  running = 0
  most = 0
  release: () => void = () => {}
  readonly released = new Promise<void>((resolve) => {
    this.release = resolve
  })
  answer: (name: string, call: number) => Response | Promise<Response> = () => new Response('done')

  async fetch({ url }: { readonly url: string }): Promise<Response> {
    const name = new URL(url).pathname.slice(1)
    this.called.push(name)
    this.most = Math.max(this.most, ++this.running)
    try {
      return await this.answer(name, this.called.length)
    } finally {
      this.running--
    }
  }
}

let service: Service
let call: Call
let payer: Payer
let user: CallOptions
let item: (name: string, price?: number) => Promise<CartItem>
let endpoints: Endpoints

function open(storage: Storage, options: Partial<ServiceOptions> = {}): void {
  service = createService({ storage, sandbox: true, upstream: endpoints, ...options })
  call = caller({ url: service.baseUrl, fetch: (request) => service.fetch(request) })
}

async function begin(storage: Storage, options: Partial<ServiceOptions> = {}): Promise<void> {
  endpoints = new Endpoints()
  open(storage, options)
  const seller = await newSeller(call)
  payer = await newPayer(call, seller, { balance: 10 })
  user = { token: payer.token }
  item = (name, price = 1) => newItem(call, seller, { external_endpoint: `https://api.example.test/${name}`, price })
}

afterEach(() => service.close())

const statusesOf = ({ body }: Answer) => [body.status, ...body.items.map(({ status }: any) => status)]

async function expectLeft(left: number): Promise<void> {
  expect(await balanceOf(call, payer.token, payer.hostname)).toBe(left)
  for (const { held } of (await expectSoundLedger(call)).digital_quantities) expect(held).toBe(0)
  expect((await service.sandbox.snapshot()).rows.held_calls ?? []).toEqual([])
}

describe.each(Object.keys(storages))('on %s', (name) => {
  const storage = () => (storages[name] as () => Promise<Storage>)()

  test('each unit of a quantity is posted or reversed on its own', async () => {
    await begin(await storage())
    endpoints.answer = (_, n) => new Response('', { status: n === 2 ? 500 : 200 })
    const cart = await filledCart(call, user, [await item('a')], { quantity: 3 })
    const paid = await payCart(call, user, cart)
    expect(statusesOf(paid)).toEqual(['partly_paid', 'partly_paid'])
    expect(paid.body.items[0].receipts.map(({ status }: any) => status).sort()).toEqual(['paid', 'paid', 'reversed'])
    await expectLeft(8)
  })

  test('at most four endpoints are called at the same time', async () => {
    await begin(await storage())
    endpoints.answer = async () => {
      await new Promise((resolve) => setTimeout(resolve, 5))
      return new Response('')
    }
    const items = await Promise.all(['a', 'b', 'c'].map((each) => item(each, 0.1)))
    const cart = await filledCart(call, user, items, { quantity: 5 })
    expect((await payCart(call, user, cart)).body.status).toBe('paid')
    expect([endpoints.called.length, endpoints.most]).toEqual([15, 4])
    await expectLeft(8.5)
  })

  test('restoring a snapshot of a cart during its payment marks the cart as failed', async () => {
    await begin(await storage())
    endpoints.answer = () => endpoints.released.then(() => new Response(''))
    const cart = await filledCart(call, user, [await item('a'), await item('b')])
    const paying = payCart(call, user, cart)
    await expect.poll(() => endpoints.called.length).toBe(2)
    const snapshot = await service.sandbox.snapshot()
    endpoints.release()
    expect((await paying).body.status).toBe('paid')
    await service.sandbox.restore(snapshot)
    expect(statusesOf(await readCart(call, user, cart))).toEqual(['failed', 'reversed', 'reversed'])
    await expectLeft(10)
  })
})

test('the cart of a killed process ends as its lines do, and is not called or paid again', async () => {
  await begin(await files.open())
  endpoints.answer = (name) =>
    name === 'done' ? new Response('') : endpoints.released.then(() => new Response('', { status: 500 }))
  const items = [await item('done'), ...(await Promise.all(['a', 'b', 'c', 'd', 'e'].map((each) => item(each))))]
  const cart = await filledCart(call, user, items)
  const keyed = { ...user, headers: { 'idempotency-key': 'once' } }
  const lost = payCart(call, keyed, cart)
  await expect.poll(() => endpoints.called.length).toBe(5)
  await expect.poll(async () => statusesOf(await readCart(call, user, cart))[1]).toBe('paid')
  const left = await files.leave('killed')
  endpoints.release()
  await lost
  await service.close()

  const before = endpoints.called.length
  open(await fileStorage({ file: left }))
  const reversed = Array(5).fill('reversed')
  expect(statusesOf(await readCart(call, user, cart))).toEqual(['partly_paid', 'paid', ...reversed])
  const again = await payCart(call, keyed, cart)
  expect([again.status, ...statusesOf(again)]).toEqual([200, 'partly_paid', 'paid', ...reversed])
  expect(endpoints.called.length).toBe(before)
  await expectLeft(9)
})

test('a service that closes lets the whole cart settle first', async () => {
  await begin(await files.open())
  endpoints.answer = () => endpoints.released.then(() => new Response(''))
  const cart = await filledCart(call, user, [await item('a')], { quantity: 6 })
  const paying = payCart(call, user, cart)
  await expect.poll(() => endpoints.called.length).toBe(4)
  const closed = service.close()
  endpoints.release()
  await closed
  await files.closeAll()
  await paying.catch(() => {})
  open(await files.open())
  expect(statusesOf(await readCart(call, user, cart))).toEqual(['paid', 'paid'])
  await expectLeft(4)
})

test('moving the clock reverses no line that waits for its turn', async () => {
  await begin(memoryStorage())
  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  endpoints.answer = () => endpoints.released.then(() => new Response(''))
  const cart = await filledCart(call, user, [await item('a')], { quantity: 6 })
  const paying = payCart(call, user, cart)
  await expect.poll(() => endpoints.called.length).toBe(4)
  await advance(call, '50m')
  expect((await readCart(call, user, cart)).body.status).toBe('paying')
  endpoints.release()
  expect((await paying).body.status).toBe('paid')
  await expectLeft(4)
})

test('a waiting line that a restored snapshot removes is not called', async () => {
  await begin(memoryStorage())
  endpoints.answer = () => endpoints.released.then(() => new Response(''))
  const cart = await filledCart(call, user, [await item('a')], { quantity: 6 })
  const before = await service.sandbox.snapshot()
  const paying = payCart(call, user, cart)
  await expect.poll(() => endpoints.called.length).toBe(4)
  await service.sandbox.restore(before)
  endpoints.release()
  expect((await paying).body.status).toBe('open')
  expect(endpoints.called.length).toBe(4)
  await expectLeft(10)
  // The restored cart can be paid: the lines of the earlier payment do not block it.
  expect((await payCart(call, user, cart)).body.status).toBe('paid')
  expect(endpoints.called.length).toBe(10)
  await expectLeft(4)
})

test('a line that a storage failure keeps from settling is reversed once the storage works again, and the cart says so', async () => {
  const storage = failingStorage()
  await begin(storage, { log: { error: () => {} } })
  endpoints.answer = async (name) => {
    if (name === 'a') return new Response('')
    await new Promise((resolve) => setTimeout(resolve, 50))
    storage.failing = 'writes'
    return new Response('')
  }
  const cart = await filledCart(call, user, [await item('a'), await item('b')])
  expectProblem(await payCart(call, user, cart), 503, 'outcome_unknown')
  storage.failing = 'nothing'
  expect(statusesOf(await readCart(call, user, cart))).toEqual(['paying', 'paid', 'paying'])
  expectProblem(await payCart(call, user, cart), 409, 'cart_paying')
  await advance(call, '61s')
  expect(statusesOf(await readCart(call, user, cart))).toEqual(['partly_paid', 'paid', 'reversed'])
  expect(statusesOf(await payCart(call, user, cart))).toEqual(['partly_paid', 'paid', 'reversed'])
  await expectLeft(9)
})

test('if the storage fails completely, waiting lines are not called, and all lines are reversed once it works again', async () => {
  const storage = failingStorage()
  await begin(storage, { log: { error: () => {} } })
  endpoints.answer = async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    storage.failing = 'all'
    return new Response('')
  }
  const cart = await filledCart(call, user, [await item('a')], { quantity: 6 })
  expectProblem(await payCart(call, user, cart), 503, 'outcome_unknown')
  expect(endpoints.called.length).toBe(4)
  storage.failing = 'nothing'
  await advance(call, '61s')
  expect(statusesOf(await readCart(call, user, cart))).toEqual(['failed', 'reversed'])
  await expectLeft(10)
})
