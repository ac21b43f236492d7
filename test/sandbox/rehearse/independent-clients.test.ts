import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import { howMuch, isWhole } from '../../support/how-much.js'
import { useUpstream } from '../../support/scenes/upstream.js'
import { type Client, openMarket } from './fixtures/clients.js'
import { rightClients } from './fixtures/right-clients.js'
import { wrongClients } from './fixtures/wrong-clients.js'

const upstream = useUpstream()

/** All clients share a market: each run has a fork of its own. */
let opened: Awaited<ReturnType<typeof openMarket>>
beforeAll(async () => {
  opened = await openMarket(`${upstream.url}/ok`)
})
afterAll(() => opened.service.close())

/** A slow answer is late only for who waits no longer than for 500 ms. All faults of its calls come within 24 runs. */
const WITH_DEADLINE = { slowMs: 700, runs: howMuch(20, 24) }
const WITHOUT = { slowMs: 5, runs: howMuch(16, 40) }

async function rehearsed(name: string, buy: Client) {
  const { service, market } = opened
  const options = name.includes('deadline') ? WITH_DEADLINE : WITHOUT
  const { findings } = await rehearse(service, (fork, tools) => buy(fork, market, tools), options)
  return findings.map(({ name, habit, plan }) => `${name} ${habit}: ${plan.map(({ kind }) => kind).join(' ')}`)
}

const named: Readonly<Record<string, readonly string[]>> = {
  'a gateway class whose retried closure makes the key': ['paid_twice new_key_each_try: lost_after'],
  'axios with an interceptor that repeats whatever failed': ['paid_twice sends_no_key: lost_after'],
  'a queue whose key names the attempt': ['paid_twice new_key_each_try: lost_after'],
  'steps of a generator that delivers before it looks': [
    'delivered_unpaid delivers_anyway: error_before',
    'left_pending never_polls: pending',
  ],
  'a wrapper with a deadline and no second try': [
    'paid_undelivered gives_up: lost_after',
    'left_pending never_polls: pending',
  ],
  'a button that pays whatever it costs': ['charged_more pays_before_price: price_changed'],
  'a logger that prints the request that failed': ['leaked_secret logs_secrets: lost_after'],
  'an order whose key is its article, whatever the price': ['kept_used_key keeps_key_after_refusal: price_changed'],
  'an agent that signs again after each failure': [
    'paid_twice new_key_each_try: lost_after',
    'paid_twice signs_while_pending: pending',
  ],
  'a cart that takes a running payment for a paid one': ['left_pending never_polls: pending'],
}

/** Unless all are tried, those with habits that no application of `rehearse.test.ts` has, and one that it has. */
const tried = [
  'axios with an interceptor that repeats whatever failed',
  'steps of a generator that delivers before it looks',
  'a wrapper with a deadline and no second try',
]

describe('names what is wrong with', () => {
  test.each(Object.keys(wrongClients).filter((name) => isWhole || tried.includes(name)))('%s', async (name) => {
    expect(await rehearsed(name, wrongClients[name] as Client)).toEqual(named[name])
  })
})

describe('finds nothing wrong with', () => {
  test.each(Object.entries(rightClients).filter((_, at) => isWhole || at % 4 === 0))('%s', async (name, buy) => {
    expect(await rehearsed(name, buy)).toEqual([])
  })
})
