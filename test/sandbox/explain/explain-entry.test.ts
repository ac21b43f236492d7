import { expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import type { ServiceContext } from '../../../src/http/context.js'
import { type ExplainedEntry, explainEntry } from '../../../src/sandbox/explain/explain.js'
import { StateForgotten } from '../../../src/storage/history/history.js'

const entry: ExplainedEntry = {
  id: 'req_1',
  at: '2031-05-01T12:00:00.000Z',
  ms: 1,
  origin: 'http',
  operation_id: null,
  method: 'GET',
  path: '/nowhere',
  status: 404,
  code: 'no_such_path',
  principal: null,
  request: { headers: {}, body: null },
  response: { headers: {}, body: null },
  caused: [],
  after: 7,
  storage: { transactions: 0, reads: 0, writes: 0, retries: 0 },
}

it('says that facts are of now, if the history has forgotten the moment', async () => {
  const asked: number[] = []
  const service = {
    baseUrl: 'http://127.0.0.1:4242',
    storage: memoryStorage(),
    sandbox: {
      loadRoutes: async () => [],
      history: {
        readAt: async (commit: number) => {
          asked.push(commit)
          throw new StateForgotten(8)
        },
      },
    },
  } as unknown as ServiceContext
  const { facts, sentences } = await explainEntry(entry, { findEarlier: () => undefined, service })
  expect(asked).toEqual([7])
  expect(facts).toMatchObject({ code: 'no_such_path', of: 'now' })
  expect(sentences.at(-1)).toContain('these facts are of now')
})
