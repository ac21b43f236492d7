import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from '../../../src/http/fields/schema.js'
import { noContent, reply } from '../../../src/http/reply.js'
import { route } from '../../../src/http/route.js'
import { createService } from '../../../src/index.js'
import type { OperationBody, OperationErrors, OperationParams, OperationResult } from '../../../src/routes.js'
import { caller } from '../../support/api.js'
import { callOperation, refusedOperation } from '../../support/operation.js'

const common = { summary: 'A count.', evidence: 'designed', method: 'GET', path: '/count', auth: ['none'] } as const
const result = z.object({ count: z.int() })

describe('an operation', () => {
  it('can be called by its id with the types of the route table', async () => {
    const service = createService({ sandbox: true })
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    const hash = '7f1c5b1e-5a1f-4c53-9d53-0f6c7e0a1b11'
    const { accounts } = await callOperation(call, 'seedSandbox', {
      body: {
        accounts: [{ name: 'Ada', balance: 5 }],
        commodities: [{ account: 'Ada', descriptor: 'song', cost: 1, hash }],
      },
    })
    expectTypeOf(accounts).not.toBeAny()
    const [{ client_id = '', client_secret = '' } = {}] = accounts
    const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    const { access_token: token } = await callOperation(call, 'createAccountToken', { headers })
    const code = await refusedOperation(call, 'validatePayment', {
      token,
      params: { hash },
      body: { nonce: 'none', timestamp: 1 },
    })
    expect(code).toBe('nonce_unknown')
  })

  it('has its path, body, answer and errors as types', () => {
    expectTypeOf<OperationParams<'createPayment'>>().toEqualTypeOf<{ hash: string }>()
    expectTypeOf<OperationBody<'createPayment'>['hostname']>().toEqualTypeOf<string | undefined>()
    expectTypeOf<OperationResult<'validatePayment'>['valid']>().toEqualTypeOf<true>()
    expectTypeOf<'nonce_used'>().toExtend<OperationErrors<'validatePayment'>>()
    expectTypeOf<'card_declined'>().not.toExtend<OperationErrors<'validatePayment'>>()
  })

  it('does not compile if its answer differs from its result', () => {
    route({ ...common, result, handle: async () => ({ count: 1 }) })
    route({ ...common, result, handle: async () => reply({ status: 201, value: { count: 1 } }) })
    route({ ...common, status: 204, handle: async () => noContent() })
    // @ts-expect-error a count is a number
    route({ ...common, result, handle: async () => ({ count: 'one' }) })
    // @ts-expect-error it is missing
    route({ ...common, result, handle: async () => ({}) })
    // @ts-expect-error no result is declared
    route({ ...common, handle: async () => ({ count: 1 }) })
    // @ts-expect-error no such code
    route({ ...common, result, errors: ['no_such_code'], handle: async () => ({ count: 1 }) })
    // @ts-expect-error it has no such parameter
    route({ ...common, result, handle: async ({ params }) => ({ count: params.count }) })
  })
})
