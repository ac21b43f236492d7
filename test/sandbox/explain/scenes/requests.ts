import { expect } from 'vitest'
import { createService } from '../../../../src/index.js'
import { caller } from '../../../support/api.js'
import { newItem } from '../../../support/scenes/catalog.js'
import { newSession } from '../../../support/scenes/world.js'
import { gate, type Scenes } from './scene.js'

/** Requests whose address, headers or key the service refuses. */
export const requestScenes = {
  path_malformed: {
    provoke: ({ ask }) => {
      return {
        request: ask('GET', '/_sandbox/snapshots/half%'),
        facts: { path: '/_sandbox/snapshots/half%', encoded: '/_sandbox/snapshots/half%25' },
        says: ['/_sandbox/snapshots/half% has a percent sign', '`encodeURIComponent`', '/_sandbox/snapshots/half%25'],
        fix: 'none',
      }
    },
  },
  header_malformed: {
    provoke: ({ askAside, reader, article }) => ({
      request: askAside('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        body: {},
        headers: { 'x-sandbox-fault': 'sometimes; status=503' },
      }),
      facts: { header: 'X-Sandbox-Fault', value: 'sometimes; status=503' },
      says: ['The header X-Sandbox-Fault was `sometimes; status=503`', 'Leave it out'],
    }),
  },
  no_such_path: {
    provoke: ({ ask, reader }) => ({
      request: ask('GET', '/twins', { token: reader.token }),
      facts: { path: '/twins', near: '/v4/twins' },
      says: ['no operation has the path /twins', '/v4/twins is an operation'],
    }),
  },
  method_not_allowed: {
    provoke: ({ ask, reader }) => ({
      request: ask('DELETE', '/v4/twins', { token: reader.token }),
      facts: { method: 'DELETE', allowed: expect.arrayContaining(['GET']) },
      says: ['/v4/twins takes GET', 'the request was a DELETE'],
    }),
  },
  idempotency_key_invalid: {
    provoke: ({ ask, reader, article }) => ({
      request: ask('POST', `/v4/payment/${article.hash}`, {
        token: reader.token,
        body: {},
        headers: { 'idempotency-key': 'k'.repeat(256) },
      }),
      facts: { characters: 256, most: 255 },
      says: ['The key has 256 characters'],
    }),
  },
  idempotency_in_progress: {
    async provoke({ ask, reader, item, upstream }) {
      const { opened, open } = gate<Response>()
      const calling = gate<void>()
      upstream.fetch = () => {
        calling.open()
        return opened
      }
      const buy = () =>
        ask('POST', `/v4/catalog/items/${item.id}/purchases`, {
          token: reader.token,
          body: { arguments: { city: 'Rome' } },
          headers: { 'idempotency-key': 'once' },
        })
      const first = buy()
      await calling.opened
      return {
        request: buy(),
        facts: { key: 'once', other: { id: expect.stringMatching(/^req_/), status: null }, retry_after: 1 },
        says: ['The key was used by req_', 'which still runs'],
        meanwhile: async () => {
          open(new Response('{}'))
          expect((await first).answer.status).toBe(201)
        },
      }
    },
  },
  idempotency_mismatch: {
    async provoke({ call, ask, reader, article }) {
      const sent = (body: object) => ({ token: reader.token, body, headers: { 'idempotency-key': 'once' } })
      await call('POST', `/v4/payment/${article.hash}`, sent({ cost: 0.25 }))
      return {
        request: ask('POST', `/v4/payment/${article.hash}`, sent({ hostname: reader.hostname })),
        facts: { key: 'once', changed: ['hostname', 'cost'], other: { status: 202 } },
        says: ['The key was used by req_', 'answered with 202', '`hostname` and `cost`'],
      }
    },
  },
  idempotency_unreadable: {
    options: { encryptionKey: '22'.repeat(32) },
    async provoke({ ask, reader, article, disk }) {
      const before = createService({ storage: disk.storage, sandbox: true, encryptionKey: '11'.repeat(32) })
      const sent = { token: reader.token, body: {}, headers: { 'idempotency-key': 'once' } }
      const path = `/v4/payment/${article.hash}`
      expect((await caller({ url: before.baseUrl, fetch: before.fetch })('POST', path, sent)).status).toBe(202)
      return {
        request: ask('POST', path, sent),
        facts: { key: 'once' },
        says: ['sealed with another encryption key'],
      }
    },
  },
  too_many_hops: {
    provoke: ({ ask, reader, item }) => ({
      request: ask('POST', `/v4/catalog/items/${item.id}/purchases`, {
        token: reader.token,
        body: { arguments: { city: 'Rome' } },
        headers: { via: '1.1 farthing, 1.1 farthing, 1.1 farthing' },
      }),
      facts: { hops: 3, most: 3, via: '1.1 farthing, 1.1 farthing, 1.1 farthing' },
      says: ['names 3 services', 'Three are allowed'],
    }),
  },
  too_many_calls: {
    async provoke({ call, ask, reader, seller }) {
      const free = await newItem(call, seller, { price: 0 })
      const { id } = (await call('POST', '/v4/carts', { token: reader.token })).body
      const body = { catalog_item_id: free.id, arguments: { city: 'Rome' }, quantity: 99 }
      for (let n = 0; n < 6; n++) await call('POST', `/v4/carts/${id}/items`, { token: reader.token, body })
      const request = ask('POST', `/v4/carts/${id}/pay`, { token: reader.token })
      return { request, facts: { most: 500 }, says: ['at most 500 calls'], fix: 'none' as const }
    },
  },
  slow_down: {
    async provoke({ call, ask, reader }) {
      const session = await newSession(call, reader.email)
      const body = { action: 'transfer', detail: { amount: 1 } }
      const { id } = (await call('POST', '/v4/authentication-requests', { session, body })).body
      const path = `/v4/authentication-requests/${id}`
      const before = (await call('GET', path, { session })).headers.get('x-request-id')
      return {
        request: ask('GET', path, { session }),
        facts: { interval: 2, retry_after: 2, before },
        says: [path, 'every two seconds', `The poll before was ${before}`],
      }
    },
  },
} satisfies Scenes
