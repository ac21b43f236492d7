import { expect, test, vi } from 'vitest'
import { memoryStorage } from '../adapters/storage/memory.js'
import { createService, type Mail, type ServiceOptions } from '../src/index.js'
import { postMail } from '../src/outbox/outbox.js'
import type { Storage } from '../src/storage/storage.js'
import { caller } from './support/api.js'

/** A storage that outlives the services on it. */
const keptOpen = (storage: Storage): Storage => ({ ...storage, close: async () => {} })

/** A service whose mail is taken over by `send`. */
function started(send: (mail: Mail) => Promise<void>, options: ServiceOptions = {}) {
  const storage = options.storage ?? memoryStorage()
  const errors: string[] = []
  const log = { error: (message: string) => void errors.push(message) }
  const service = createService({ mailer: { send }, log, ...options, storage })
  const call = caller({ url: 'http://127.0.0.1:4242', fetch: service.fetch })
  const askCode = (email: string) => call('POST', '/v4/session/code', { body: { email } })
  return { service, storage, errors, call, askCode, rows: async () => (await storage.export()).rows.outbox ?? [] }
}

test('mail is sent after its write has landed, with its id as the key, and rests nowhere afterwards', async () => {
  const sent: Mail[] = []
  const { askCode, rows, storage } = started(async (mail) => {
    expect((await storage.export()).rows.outbox).toHaveLength(1)
    sent.push(mail)
  })
  await askCode('ada@example.test')
  await vi.waitUntil(async () => (await rows()).length === 0)
  expect(sent).toEqual([{ id: '1', to: 'ada@example.test', subject: expect.any(String), text: expect.any(String) }])
})

test('mail that cannot be sent stays, holds up no other, and is tried with the next under the same id', async () => {
  let down = true
  const sent: string[] = []
  const { askCode, rows, errors } = started(async ({ id, to }) => {
    if (down && to !== 'bob@example.test') throw new Error('the mail server is down')
    sent.push(`${id} ${to}`)
  })
  for (let n = 0; n < 120; n++) await askCode(`ada${n}@example.test`)
  await askCode('bob@example.test')
  await vi.waitUntil(() => sent.length > 0)
  expect(sent).toEqual(['121 bob@example.test'])
  await vi.waitUntil(async () => (await rows()).length === 120)
  expect(errors[0]).toContain('stays in the outbox')
  down = false
  await askCode('bob@example.test')
  await vi.waitUntil(async () => (await rows()).length === 0)
  expect(sent).toHaveLength(122)
  expect(sent.slice(1, 3)).toEqual(['1 ada0@example.test', '2 ada1@example.test'])
})

test('mail that was left behind by a service that ended is sent by the next', async () => {
  const storage = memoryStorage()
  const first = started(() => Promise.reject(new Error('down')), { storage: keptOpen(storage) })
  await first.askCode('ada@example.test')
  await first.service.close()
  const sent: string[] = []
  const second = started(async ({ to }) => void sent.push(to), { storage: keptOpen(storage) })
  await second.service.ready()
  await vi.waitUntil(() => sent.length > 0)
  expect(sent).toEqual(['ada@example.test'])
  await second.service.close()
  expect((await storage.export()).rows.outbox).toBeUndefined()
})

test('closing waits for the mail that is being sent', async () => {
  let sent = false
  const { service, askCode } = started(async () => {
    await new Promise((resolve) => setTimeout(resolve, 20))
    sent = true
  })
  await askCode('ada@example.test')
  await service.close()
  expect(sent).toBe(true)
})

for (const forget of ['emptyOutbox', 'reset'] as const)
  test(`${forget} while mail is being sent brings nothing of it back`, async () => {
    let release = () => {}
    const begun = vi.fn()
    const { service, askCode, rows } = started(
      async () => {
        begun()
        await new Promise<void>((resolve) => (release = resolve))
      },
      { sandbox: true },
    )
    await askCode('ada@example.test')
    await vi.waitUntil(() => begun.mock.calls.length > 0)
    await service.sandbox[forget]()
    release()
    await service.sandbox.outbox()
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(await rows()).toEqual([])
    await service.close()
  })

test('mail sent since a reset is sent, though it has the id of one that was being sent', async () => {
  const releases: (() => void)[] = []
  const sent: string[] = []
  const { service, askCode } = started(
    async ({ id, to }) => {
      sent.push(`${id} ${to}`)
      if (to === 'ada@example.test') await new Promise<void>((resolve) => releases.push(resolve))
    },
    { sandbox: true },
  )
  await askCode('ada@example.test')
  await vi.waitUntil(() => releases.length > 0)
  await service.sandbox.reset()
  await askCode('bob@example.test')
  releases[0]?.()
  await vi.waitUntil(() => sent.length > 1)
  expect(sent).toEqual(['1 ada@example.test', '1 bob@example.test'])
  await service.close()
})

test('the sandbox keeps sent mail to be read, and parses codes and links out of it', async () => {
  const { service, storage } = started(async () => {}, { sandbox: true })
  await service.ready()
  const text =
    'Your code is 123456 (not 1234567). Claim it at http://127.0.0.1:4242/claim/654321?a=b, or see https://a.test/x.'
  const at = Date.now()
  await storage.write((tx) => postMail(tx, { to: 'ada@example.test', subject: 'Hello', text, at }))
  const { messages } = await service.sandbox.outbox({ to: 'ada@example.test' })
  expect(messages[0]).toMatchObject({
    codes: ['123456'],
    links: ['http://127.0.0.1:4242/claim/654321?a=b', 'https://a.test/x'],
  })
  await service.close()
})
