import { describe, expect, it } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { routeList } from '../../../scripts/route-table.js'
import { type ProblemCode, problemCodes, problemSentence, problemStatus } from '../../../src/base/problem.js'
import { errorText } from '../../../src/http/error-pages/error-texts.js'
import { defaultLimits } from '../../../src/http/limits.js'
import type { Route } from '../../../src/http/route.js'
import { errorsOf } from '../../../src/http/routing/errors.js'
import { explainAnswer } from '../../../src/sandbox/explain/explain.js'
import type { Explanation } from '../../../src/sandbox/explain/facts/explanation.js'
import type { Entry } from '../../../src/sandbox/onion/entry.js'
import { howMuch } from '../../support/how-much.js'

const generic = new Set(
  problemCodes.map(errorText).flatMap(({ meaning, causes, fixes }) => [meaning, ...causes, ...fixes]),
)

/** An entry in which a route refused a request with a code. */
const entryOf = (code: ProblemCode, route: Route | undefined, body: object | null, principal: string | null): Entry => {
  const version = route?.versions?.[0]
  const path = (route?.path ?? '/nowhere').replace(/:\w+/g, '1')
  return {
    id: '01ENTRY',
    at: '2031-05-01T12:00:00.000Z',
    ms: 1,
    origin: 'http',
    operation_id: route?.id ?? null,
    method: route?.method ?? 'GET',
    path: `${version ? `/${version}` : ''}${path}`,
    status: problemStatus(code),
    code,
    principal,
    request: { headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) },
    response: {
      headers: {},
      body: JSON.stringify({ error: problemSentence(code), status: problemStatus(code), code }),
    },
    storage: { transactions: 1, reads: 1, writes: 0, retries: 0 },
    caused: [],
  }
}

const body = {
  ...{ hostname: 'nobody.twin.localhost', dq: '[redacted]', amount: 1.00001, price: 2, catalog_item_id: 9, cart_id: 9 },
  ...{ approval_id: 'none', persona_delegate: 'none', email: 'nobody@example.test', nonce: '[redacted]', timestamp: 1 },
  ...{ client_id: 'none', redirect_uri: 'http://a.test', payment_method_id: 'pm_card_visa', arguments: { city: 1 } },
}

describe('every error code', () => {
  it('has an explanation that names more than the text of its page, whatever the request', async () => {
    const storage = memoryStorage()
    const faults = new Set<string>()
    let count = 0
    for (const code of problemCodes)
      for (const route of routesWith(code))
        for (const [sent, principal] of requests) {
          const entry = entryOf(code, route, sent, principal)
          const why = await storage.read((tx) => explainAnswer({ ...sources, entry, tx }))
          for (const fault of faultsOf(code, why)) faults.add(`${code} of ${route?.id}: ${fault}`)
          count++
        }
    await storage.close()
    expect([...faults]).toEqual([])
    expect(count).toBeGreaterThan(howMuch(1000, 5000))
  })
})

/** An empty service without earlier entries. Nothing that a request names is there. */
const sources = {
  service: {
    baseUrl: 'http://127.0.0.1:4242',
    evidence: 'observed',
    dialects: { networks: [], settlesAgain: false },
    accountCreation: true,
    cards: undefined,
    sandbox: undefined,
    limits: defaultLimits,
  },
  operations: routeList,
  findEarlier: async () => undefined,
} as const

const requests = [
  [null, null],
  [{}, 'user:1'],
  [body, 'account:1'],
  [body, 'agent:1'],
] as const

/** The routes that may refuse with a code, or some of them, and none for codes of the service as a whole. */
function routesWith(code: ProblemCode): readonly (Route | undefined)[] {
  const declaring = routeList.filter((route) => errorsOf(route).includes(code))
  return declaring.length === 0 ? [undefined] : declaring.slice(0, howMuch(6, declaring.length))
}

function faultsOf(code: ProblemCode, { sentences, facts, verdict, docs }: Explanation): string[] {
  const wrong = sentences.filter((sentence) => BROKEN.test(sentence))
  return [
    ...wrong.map((sentence) => `says “${sentence}”`),
    ...(sentences.some((sentence) => !generic.has(sentence)) ? [] : ['says only the generic text']),
    ...(Object.keys(facts).length < 3 ? ['has no facts'] : []),
    ...(verdict.includes(code) && docs.endsWith(`/docs/errors/${code}`) ? [] : ['names another code']),
  ]
}

/** Sentences with a hole. */
const BROKEN = /undefined|\[object|NaN|null| {2}| [.,]/
