import { copyFile, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { checksumOf } from '../../adapters/storage/file/line.js'
import { fileStorage } from '../../adapters/storage/file.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { readState } from '../../sandbox/state.js'
import { createService, type Service } from '../../src/index.js'
import type { State } from '../../src/storage/storage.js'
import { type Call, caller } from '../support/api.js'
import { ask } from '../support/scenes/second-factor.js'
import { newPayer, newSeller, newSession } from '../support/scenes/world.js'
import { useFileStorages } from '../support/storage/file-storages.js'

/** Someone who can read a developer's files, or is handed one of them: a backup, a bug report, a shared folder. */

const files = useFileStorages()
const running: Service[] = []
afterEach(async () => {
  for (const service of running.splice(0)) await service.close()
})

async function open(file = files.file, errors: string[] = []): Promise<{ service: Service; call: Call }> {
  const log = { error: (message: string) => void errors.push(message) }
  const service = createService({ storage: await fileStorage({ file }), sandbox: true, log })
  running.push(service)
  await service.ready()
  return { service, call: caller({ url: service.baseUrl, fetch: service.fetch }) }
}

async function closeAll(): Promise<void> {
  for (const service of running.splice(0)) await service.close()
}

/** Signs someone in, and asks someone else by mail to answer a request. Gives what the mails hold that must stay secret. */
async function mailSecrets(call: Call): Promise<string[]> {
  const payer = await newPayer(call, await newSeller(call))
  await ask(call, payer)
  await newSession(call, 'ada@example.test')
  const { messages } = (await call('GET', '/_sandbox/outbox')).body
  return messages.flatMap(({ codes, links, text }: { codes: string[]; links: string[]; text: string }) => [
    ...codes.map((code) => `"${code}"`),
    ...links,
    text.slice(0, 30),
  ])
}

const keyOf = (state: State): unknown => state.rows.service_keys?.[0]

async function everything(names = ['data.json', 'data.json.journal']): Promise<string> {
  const contents = await files.contents()
  return names.map((name) => contents[name] ?? '').join('\n')
}

it('a reader of the data file and its journal finds no mail, code or link', async () => {
  const { call } = await open()
  const secrets = await mailSecrets(call)
  expect(secrets).toHaveLength(4)
  const whileItRuns = await everything()
  await closeAll()
  for (const resting of [whileItRuns, await everything()])
    for (const secret of secrets) expect(resting.includes(secret), secret).toBe(false)
})

it('a reader of the event log finds no code in the subject of a mail', async () => {
  const { call, service } = await open()
  const session = await newSession(call, 'ada@example.test')
  await call('POST', '/v4/session/code', { session, body: { email: 'ada@example.test' } })
  await expect
    .poll(async () => (await call('GET', '/v4/events?type=email.sent', { session })).body.events.length)
    .toBeGreaterThan(0)
  const [mail] = (await service.sandbox.outbox({ to: 'ada@example.test' })).messages
  const { text } = await call('GET', '/v4/events', { session })
  expect(mail?.codes).toHaveLength(1)
  expect(text).not.toContain(mail?.codes[0])
})

it('a reader of the data file and its journal does not find their key', async () => {
  const { service } = await open()
  const { value } = keyOf(await service.sandbox.snapshot()) as { value: string }
  expect(value).toMatch(/^[0-9a-f]{64}$/)
  expect(await everything()).not.toContain(value)
  await closeAll()
  expect(await everything()).not.toContain(value)
  expect(await everything(['data.json.key'])).toContain(value)
})

it('other users of the machine cannot read any of the files', async () => {
  const { call } = await open()
  await newSeller(call)
  const arePrivate = async (...ends: string[]) => {
    const names = await readdir(files.directory)
    for (const end of ends)
      expect(
        names.some((name) => name.includes(end)),
        end,
      ).toBe(true)
    for (const name of names) expect((await stat(join(files.directory, name))).mode & 0o077, name).toBe(0)
  }
  await arePrivate('data.json', '.journal.', '.key', '.lock')
  await closeAll()
  await arePrivate('data.json', '.previous', '.key')
})

it("a reader of last year's data file finds no key in it after it was opened", async () => {
  await copyFile(fileURLToPath(new URL('../states/v1.json', import.meta.url)), files.file)
  const before = JSON.parse(await readFile(files.file, 'utf8')) as State
  const old = before.rows.settings?.find(({ id }) => id === 'key') as unknown as { value: string }
  expect(old.value).toMatch(/^[0-9a-f]{64}$/)
  const { service } = await open()
  expect(keyOf(await service.sandbox.snapshot())).toEqual({ id: 'key', value: old.value })
  await expect.poll(everything).not.toContain(old.value)
  await closeAll()
  expect(await everything()).not.toContain(old.value)
})

it('a snapshot without its key does not decrypt its fields', async () => {
  const { call, service } = await open()
  const secrets = await mailSecrets(call)
  const { value } = keyOf(await service.sandbox.snapshot()) as { value: string }
  const bare = (await call('GET', '/_sandbox/snapshot?key=false')).body as State
  expect(JSON.stringify(bare)).not.toContain(value)

  const other = createService({ storage: memoryStorage(), sandbox: true, log: { error: () => {} } })
  running.push(other)
  await other.sandbox.restore(bare)
  const { messages } = await other.sandbox.outbox()
  expect(messages.length).toBeGreaterThan(0)
  for (const secret of secrets) expect(JSON.stringify(messages)).not.toContain(secret)
})

it('a snapshot without its key decrypts again in the sandbox that it came from', async () => {
  const { call, service } = await open()
  await mailSecrets(call)
  const { messages } = await service.sandbox.outbox()
  const bare = await service.sandbox.snapshot({ key: false })
  await service.sandbox.reset()
  await service.sandbox.restore(bare)
  expect((await service.sandbox.outbox()).messages).toEqual(messages)
})

it('a snapshot with its key opens in a different sandbox with any storage', async () => {
  const { call, service } = await open()
  await mailSecrets(call)
  const { messages } = await service.sandbox.outbox()
  const other = createService({ storage: memoryStorage(), sandbox: true })
  running.push(other)
  await other.sandbox.restore(await service.sandbox.snapshot())
  expect((await other.sandbox.outbox()).messages).toEqual(messages)
})

it('a data file without its key file opens, reports the missing key, and still has its balances', async () => {
  const { call } = await open()
  const seller = await newSeller(call)
  const payer = await newPayer(call, seller, { balance: 3 })
  await closeAll()
  await rm(`${files.file}.key`)
  const errors: string[] = []
  const again = await open(files.file, errors)
  expect(errors).toEqual([expect.stringContaining('.key')])
  const { body } = await again.call('GET', `/v4/twin/${payer.hostname}`, { token: payer.token })
  expect(Object.values(body.balances)).toEqual([3])
})

it('an import of a data file also reads the key file next to it', async () => {
  const { call } = await open()
  await mailSecrets(call)
  const { messages } = (await call('GET', '/_sandbox/outbox')).body
  await closeAll()
  const other = createService({ storage: memoryStorage(), sandbox: true })
  running.push(other)
  await other.sandbox.restore(await readState(files.file))
  expect(JSON.parse(JSON.stringify((await other.sandbox.outbox()).messages))).toEqual(messages)
})

it('a crash between writing the key file and the data file leaves a state that its key decrypts', async () => {
  const { service, call } = await open()
  await mailSecrets(call)
  const { messages } = await service.sandbox.outbox()
  await closeAll()
  // What another state, whose data file was never written, left in the key file.
  const { format, generations } = JSON.parse(await readFile(`${files.file}.key`, 'utf8'))
  const rows = { service_keys: [{ id: 'key', value: '0'.repeat(64) }] }
  const later = [...generations, { commit: 1_000_000, rows }]
  const half = { format, checksum: checksumOf(JSON.stringify(later)), generations: later }
  await writeFile(`${files.file}.key`, JSON.stringify(half))
  const again = await open()
  expect((await again.service.sandbox.outbox()).messages).toEqual(messages)
})
