import { expect, test } from 'vitest'
import { FacilitatorBody } from '../../src/agents/x402/facilitator-body.js'
import { describeFault } from '../../src/http/fields/field.js'
import { z } from '../../src/http/fields/schema.js'
import { newAccount, paymentOf, paymentV1Of } from '../support/scenes/x402.js'

/** A value of a union: the fault is that of the branch that is meant. */

const Shape = z.object({
  of: z.union([
    z.object({ kind: z.literal('circle'), radius: z.number() }),
    z.object({ kind: z.literal('square'), side: z.object({ length: z.number() }), colour: z.string() }),
  ]),
})

const faults: readonly [value: object, fault: string | undefined][] = [
  [{ kind: 'circle', radius: 1 }, undefined],
  [{ kind: 'circle' }, 'of.radius is missing: it must be a number'],
  [{ kind: 'square', side: { length: 'x' }, colour: 'red' }, 'of.side.length must be a number'],
  [{ kind: 'square', side: 1 }, 'of.side must be an object'],
  [{ kind: 'round', radius: 1 }, 'of.kind must be one of "circle", "square"'],
  [{ radius: 1 }, 'of.kind is missing: it must be one of "circle", "square"'],
  [[], 'of must be an object'],
]

test.each(faults)('%j: %s', (of, fault) => {
  expect(describeFault(Shape, { of })).toBe(fault)
})

const kinds: readonly [schema: Parameters<typeof describeFault>[0], fault: string][] = [
  [z.union([z.string(), z.number()]), 'must be a string or a number'],
  [z.union([z.literal(1), z.literal(2)]), 'must be one of 1, 2'],
  [z.union([z.string(), z.literal(1), z.enum(['a', 'b'])]), 'must be a string or one of 1, "a", "b"'],
  [z.union([z.object({}), z.object({ a: z.string() })]), 'must be an object'],
]

test.each(kinds)('what no branch takes must be of one of their kinds (%#)', (schema, fault) => {
  expect(describeFault(z.object({ value: schema }), { value: true })).toBe(`value ${fault}`)
})

type Body = Record<string, any>
const shapes: readonly [change: (body: Body) => void, fault: string][] = [
  [({ paymentPayload }) => delete paymentPayload.accepted, 'paymentPayload.accepted is missing: it must be an object'],
  [({ paymentPayload }) => delete paymentPayload.payload, 'paymentPayload.payload is missing: it must be an object'],
  [({ paymentPayload }) => (paymentPayload.x402Version = 4), 'paymentPayload.x402Version must be one of 2, 1'],
  [(body) => (body.paymentPayload = 'eyJ4NDAy'), 'paymentPayload must be an object'],
  [(body) => (body.x402Version = '2'), 'x402Version must be one of 1, 2'],
  [
    (body) => (body.paymentRequirements = { ...body.paymentRequirements, amount: 5 }),
    'paymentRequirements.amount must be a string',
  ],
]

test.each(shapes)('a payment of version 2 with a fault (%#)', async (change, fault) => {
  const body: Body = structuredClone(await paymentOf(newAccount()))
  change(body)
  expect(describeFault(FacilitatorBody, body)).toBe(fault)
})

test('a payment of version 1 with a fault', async () => {
  const body: Body = structuredClone(await paymentV1Of(newAccount()))
  delete body.paymentPayload.network
  expect(describeFault(FacilitatorBody, body)).toBe('paymentPayload.network is missing: it must be a string')
})
