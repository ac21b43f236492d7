import { expect, vi } from 'vitest'
import { explain } from '../../../../src/parts.js'
import { StorageFull, StorageUnavailable } from '../../../../src/storage/storage.js'
import type { Scenes, Shop } from './scene.js'

/** What reads the coverage. */
const COVERAGE = '../../../../src/sandbox/controls/coverage.js'

const payFor = ({ article }: Shop) => `/v4/payment/${article.hash}`

const arm = async ({ call }: Shop, fault: object): Promise<string> => {
  const { status, body, text } = await call('POST', '/_sandbox/faults', { body: fault })
  expect(status, text).toBe(201)
  return body.id
}

/** The service itself, its storage and its modes. */
export const serviceScenes = {
  internal_error: {
    provoke: (shop) => ({
      meanwhile: shop.disk.fails(),
      request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: {} }),
      facts: { storage: { transactions: 0 }, caused: [], fault: null },
      says: ['No fault of the sandbox caused this', 'Nothing was changed'],
    }),
  },
  storage_unavailable: {
    async provoke(shop) {
      const id = await arm(shop, { match: { port: 'storage' }, at: 'before', do: { error: 'EIO' } })
      return {
        request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: {} }),
        facts: { fault: id, caused: [] },
        says: [`The fault ${id} of the sandbox changed this answer`, `DELETE /_sandbox/faults/${id}`],
      }
    },
  },
  'storage_unavailable (no fault)': {
    provoke: (shop) => ({
      meanwhile: shop.disk.fails(new StorageUnavailable('The disk is gone.')),
      request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: {} }),
      facts: { fault: null, caused: [] },
      says: ['No fault of the sandbox caused this', 'Nothing was changed'],
    }),
  },
  storage_full: {
    async provoke(shop) {
      return {
        meanwhile: shop.disk.fails(new StorageFull('The quota is used up.')),
        request: shop.ask('POST', payFor(shop), { token: shop.reader.token, body: {} }),
        facts: { caused: [], fault: null },
        says: ['Nothing was changed', 'Free space'],
      }
    },
  },
  outcome_unknown: {
    async provoke(shop) {
      const id = await arm(shop, { match: { port: 'storage' }, at: 'after_commit', do: { error: 'EIO' }, times: 1 })
      return {
        request: shop.ask('POST', payFor(shop), {
          token: shop.reader.token,
          body: {},
          headers: { 'idempotency-key': 'once' },
        }),
        facts: { fault: id, storage: { transactions: 1 } },
        says: [
          `The fault ${id} of the sandbox changed this answer`,
          'It happened:',
          'moved 0.25 USD',
          'Repeat it with the same Idempotency-Key',
        ],
      }
    },
  },
  overloaded: {
    options: { limits: { queue: 100 } },
    provoke({ ask, reader, article, service: { waiting } }) {
      while (waiting.enter());
      return {
        request: ask('POST', `/v4/payment/${article.hash}`, { token: reader.token, body: {} }),
        facts: { waiting: 100, queue: 100, option: 'limits.queue' },
        says: ['100 requests waited, and 100 may', '`limits.queue`'],
        meanwhile() {
          while (waiting.count > 0) waiting.leave()
        },
      }
    },
  },
  evidence_refused: {
    options: { evidence: 'observed' },
    isEmpty: true,
    provoke: ({ ask }) => ({
      request: ask('POST', '/v4/account', { headers: { 'idempotency-key': 'once' } }),
      facts: { mode: 'observed', refused: 'Idempotency-Key', grade: 'designed', flag: '--evidence' },
      says: ['accepts what is `observed` or better', 'The header "Idempotency-Key" (createAccount) is `designed`'],
    }),
  },
  sandbox_refused: {
    options: { controlToken: 'the-control-token-of-this-test' },
    provoke: ({ ask }) => ({
      request: ask('GET', '/_sandbox/clock', { headers: { 'x-forwarded-for': '203.0.113.9' } }),
      facts: { forwarded: ['x-forwarded-for'], sent_token: false, flag: '--control-token' },
      says: ['The request has x-forwarded-for', 'It had no control token'],
      fill: { 'x-control-token': () => 'the-control-token-of-this-test' },
    }),
  },
  origin_refused: {
    provoke: ({ askAside }) => ({
      request: askAside(
        'POST',
        '/v4/account',
        { headers: { origin: 'https://other.example.test' } },
        { peerAddress: '127.0.0.1' },
      ),
      facts: { origin: 'https://other.example.test', flag: '--allow-origin https://other.example.test' },
      says: ['a page of https://other.example.test', '--allow-origin https://other.example.test'],
    }),
  },
  not_bundled: {
    options: { parts: [explain] },
    provoke: ({ ask }) => ({
      request: ask('POST', '/_sandbox/mcp', { body: { jsonrpc: '2.0', id: 1, method: 'tools/list' } }),
      facts: { part: 'tools' },
      says: ['created without the part "tools" of farthing/parts'],
      fix: 'none',
    }),
  },
  not_loaded: {
    provoke({ ask }) {
      vi.doMock(COVERAGE, () => {
        throw new TypeError('Failed to fetch dynamically imported module')
      })
      return {
        request: ask('GET', '/_sandbox/coverage'),
        meanwhile: () => vi.doUnmock(COVERAGE),
        facts: { caused: [], fault: null },
        says: ['A part of the service is loaded on its first use', 'Nothing was changed'],
      }
    },
  },
} satisfies Scenes
