import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import type { RehearsalFinding } from '../../../src/sandbox/rehearse/rehearse-stage.js'
import { howMuch, isWhole } from '../../support/how-much.js'
import type { Examined } from './fixtures/examined/examined.js'
import { rightClients, wrongClients } from './fixtures/examined/index.js'
import { openWorld } from './fixtures/examined/world.js'

/** The faults of each call come first, and then pairs of them. */
const RUNS = howMuch(16, 36)

/** All clients share a world: each run has a fork of its own. */
let opened: Awaited<ReturnType<typeof openWorld>>
beforeAll(async () => {
  opened = await openWorld()
})
afterAll(() => opened.service.close())

const rehearsed = async ({ run, options }: Examined) =>
  rehearse(opened.service, (service, { log }) => run({ ...opened.world, service, log }), {
    slowMs: 5,
    runs: RUNS,
    ...options,
  })

const titled = (clients: readonly Examined[]) => clients.map((each) => [each.title, each] as const)

/** The operation to which a finding belongs, and how sure it is, where a wrong one would mislead. */
const details: Readonly<Record<string, string>> = {
  'a cart to which lines are added again': 'addCartItem sends_no_key likely: lost_after',
  'a job that takes a list that it could not read for an empty one':
    'createPayment new_key_each_try certain: lost_after lost_before',
  'a shop that pays the price of the refusal': 'createPayment ignores_changed_price possible: price_changed',
  'a checkout that begins anew, with a new cart, when it fails': 'payCart new_key_each_try likely: lost_after',
  'a wallet that pays from the second card if the first does not answer':
    'createPayment new_key_each_try likely: lost_after',
  'a top-up that is tried again without a key': 'createTopup sends_no_key certain: lost_after',
  'a saga that takes a lost answer for a refusal': 'createPayment loses_the_answer certain: lost_after',
}

const shown = ({ operation, habit, sureness, plan }: RehearsalFinding) =>
  `${operation} ${habit} ${sureness}: ${plan.map(({ kind }) => kind).join(' ')}`

/** Every sixth, and those whose finding is told in detail. */
const tried = (clients: readonly Examined[]) =>
  titled(clients).filter(([title], at) => isWhole || at % 6 === 0 || title in details)

describe('finds what a person expects of', () => {
  test.each(tried(wrongClients))('%s', async (_, client) => {
    const { findings } = await rehearsed(client)
    const names = findings.map(({ name }) => name)
    const expected = client.expects.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(expected))
    expect(names.filter((name) => ![...expected, ...(client.alsoTrue ?? [])].includes(name))).toEqual([])
    if (client.title in details) expect(findings[0] && shown(findings[0])).toBe(details[client.title])
  })
})

describe('finds nothing wrong with', () => {
  test.each(tried(rightClients))('%s', async (_, client) => {
    const { findings } = await rehearsed(client)
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
  })
})
