import { expect, onTestFinished, test } from 'vitest'
import { handlers } from '../../adapters/msw.js'
import { serve } from '../../adapters/node.js'
import { fire, handle } from '../../adapters/service-worker.js'
import { memoryStorage } from '../../adapters/storage/memory.js'
import { createService as createCore } from '../../src/core.js'
import { createService } from '../../src/index.js'

const created = (options: object) => () => createService(options)

test.each<[options: object, says: string]>([
  [{ sandbx: true }, '"sandbx" is not an option of createService. Did you mean "sandbox"?'],
  [{ baseURL: 'http://a.test' }, '"baseURL" is not an option of createService. Did you mean "baseUrl"?'],
  [
    { sandbx: true, cards: {}, baseURL: 'http://a.test' },
    '"sandbx" is not an option of createService. Did you mean "sandbox"? "baseURL" is not an option of createService. Did you mean "baseUrl"?',
  ],
  [{ colour: 1 }, '"colour" is not an option of createService.'],
  [{ users: [{ balnce: 3 }] }, '"users" belongs in the seed: createService({ sandbox: true, seed: { users } }).'],
  [{ seed: { user: [] } }, 'seed.user is not a field. Did you mean "users"?'],
  [
    { seed: { users: [{ email: 'a@a.test', balnce: 3 }] } },
    'seed.users[0].balnce is not a field. Did you mean "balance"?',
  ],
  [
    { seed: { user: [], users: [{ emial: 'a@a.test', balnce: 3 }] } },
    'seed.users[0].emial is not a field. Did you mean "email"? seed.users[0].balnce is not a field. Did you mean "balance"? seed.user is not a field. Did you mean "users"?',
  ],
  [{ seed: { users: [{}] } }, 'seed.users[0].email is missing: it must be a string'],
  [{ seed: { accounts: {} } }, 'seed.accounts must be an array'],
  [{ seed: 'demo' }, 'seed must be an object'],
  [{ limits: { nonceSeconds: -1 } }, 'limits.nonceSeconds must be at least 0'],
  [{ limits: { nonceSecond: 1 } }, 'limits.nonceSecond is not a field. Did you mean "nonceSeconds"?'],
  [{ limits: { codes: '5' } }, 'limits.codes must be a number'],
  [{ journal: 'none' }, 'journal must be true, false or an object, not "none"'],
  [{ journal: { entries: -1 } }, 'journal.entries must be at least 0'],
  [{ journal: { bytes: 1.5 } }, 'journal.bytes must be an integer'],
  [{ journal: { entrys: 5 } }, 'journal.entrys is not a field. Did you mean "entries"?'],
  [{ sandbox: 'yes' }, 'sandbox must be true or false, not "yes"'],
  [{ evidence: 'all' }, 'evidence must be documented, observed, named or designed, not "all"'],
  [{ baseUrl: '/pay' }, 'baseUrl must be an http or https URL without query and fragment, not "/pay"'],
  [{ baseUrl: null }, 'baseUrl must be an http or https URL without query and fragment, not null'],
  [{ clock: () => 1 }, 'clock must be an object with now(), not '],
  [{ mailer: {} }, 'mailer must be an object with send(), not an object'],
  [{ storage: 'memory' }, 'storage must be an object with read(), write(), export(), import(), close(), not "memory"'],
  [{ storage: Promise.resolve(memoryStorage()) }, 'storage is a promise. Await it: storage: await ….'],
  [{ cards: Promise.resolve() }, 'cards is a promise. Await it'],
  [{ allowOrigins: 'https://a.test' }, 'allowOrigins must be a list, each element an origin such as'],
  [{ allowOrigins: ['a.test'] }, 'allowOrigins must be an origin such as'],
  [{ allowUpstream: ['10.0.0.0/99'] }, 'allowUpstream must be a host name, an address or a CIDR range'],
])('createService refuses %o', (options, says) => {
  expect(created(options)).toThrow(TypeError)
  expect(created(options)).toThrow(says)
})

test('createService refuses what is no object of options', () => {
  expect(created(Promise.resolve({}))).toThrow('The options of createService are a promise. Await it.')
  for (const given of [null, 'sandbox', []])
    expect(created(given as object)).toThrow('createService takes its options as an object, not ')
  expect(() => createCore({} as Parameters<typeof createCore>[0])).toThrow('createService needs a storage here')
})

test('an error never shows a key', () => {
  const encryptionKey = 'f'.repeat(63)
  expect(created({ encryptionKey })).toThrow(/^encryptionKey must be 32 bytes: a Uint8Array or 64 hex digits$/)
})

test('an undefined option counts as absent', async () => {
  const service = createService({ storage: undefined, baseUrl: undefined, limits: { codes: undefined } } as object)
  expect((await service.fetch('v4/dq')).status).toBe(200)
  await service.close()
})

test('the adapters check their options and need a service', async () => {
  const service = createService()
  onTestFinished(() => service.close())
  const none = undefined as unknown as typeof service
  const pending = Promise.resolve(service) as unknown as typeof service
  await expect(serve(service, { prt: 1 } as object)).rejects.toThrow(
    '"prt" is not an option of serve. Did you mean "port"?',
  )
  await expect(serve(service, { port: 70_000 })).rejects.toThrow('port must be a number from 0 to 65535, not 70000')
  await expect(serve(none)).rejects.toThrow('serve needs a service')
  await expect(serve(pending, { port: 0 })).rejects.toThrow('If it is a promise, await it.')
  await expect(serve(() => none, { port: 0 })).rejects.toThrow('serve needs a service')
  expect(() => handlers(service, { baseURL: 'x' } as object)).toThrow('Did you mean "baseUrl"?')
  expect(() => handlers(service, { baseUrl: '/pay' })).toThrow('baseUrl must be an http or https URL')
  expect(() => handlers(none)).toThrow('handlers needs a service: handlers(createService(')
  expect(() => handlers(pending)).toThrow('If it is a promise, await it.')
  expect(() => handle(service, { standFor: 'x' } as object)).toThrow('Did you mean "standsFor"?')
  expect(() => handle(service, { standsFor: ['x'] })).toThrow('standsFor must be an http or https URL')
  expect(() => fire(service, { standFor: 'x' } as object)).toThrow('not an option of fire. Did you mean "standsFor"?')
  expect(() => handle(none)).toThrow('handle and fire need a service')
})

test('a worker refuses a service outside its scope, and names both', () => {
  const service = createService({ baseUrl: 'https://shop.example.test/pay' })
  onTestFinished(() => service.close())
  Object.assign(globalThis, { registration: { scope: 'https://shop.example.test/app/' } })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'registration'))
  expect(() => handle(service)).toThrow(
    'The base URL https://shop.example.test/pay is outside the scope of this worker, https://shop.example.test/app/. ' +
      'Create the service with a base URL in the scope, such as https://shop.example.test/app/pay/.',
  )
  expect(() => handle(createService({ baseUrl: 'https://shop.example.test/app/pay/' }))).not.toThrow()
})

test('a worker stores only files of its own origin that no service answers', () => {
  const service = createService({ baseUrl: 'https://shop.example.test/app/pay' })
  onTestFinished(() => service.close())
  Object.assign(globalThis, { registration: { scope: 'https://shop.example.test/app/' } })
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'registration'))
  for (const file of ['https://cdn.example.test/app.js', 'http://'])
    expect(() => fire(service, { precache: ['./', file] })).toThrow(
      `precache names "${file}", which is not a file of https://shop.example.test. Name files of the worker's own origin, such as "./" or "app.js".`,
    )
  for (const file of ['pay', 'pay/micropay.js', './x/../pay/v4/dq?embed=false'])
    expect(() => fire(service, { precache: [file] })).toThrow(
      `precache names "${file}", which the service answers without a network. Remove it.`,
    )
  expect(() => fire(service, { precache: './' } as object)).toThrow(
    'precache must be a list, each element the path of a file, such as "./", not "./"',
  )
  expect(() => fire(service, { precach: ['./'] } as object)).toThrow('Did you mean "precache"?')
  expect(() => handle(service, { precache: ['./'] } as object)).toThrow('"precache" is not an option of handle.')
})
