import type { Service } from 'farthing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keyOfPlan, pairPlans, singlePlans } from '../../../src/sandbox/rehearse/plan.js'
import { type RehearseOptions, rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import { howMuch, isWhole } from '../../support/how-much.js'
import { buggyShops, correctShops, type SettlingApplication, settlingShop } from './settling-shop.js'
import {
  type Application,
  buggy,
  correct,
  EMAIL,
  LIMIT_MS,
  type News,
  newKey,
  newsService,
  retried,
  SLOW_MS,
} from './shop.js'

/** All applications share two services: each run has a fork of its own. */
let news: News
let shop: Awaited<ReturnType<typeof settlingShop>>
beforeAll(async () => {
  ;[news, shop] = await Promise.all([newsService(), settlingShop()])
})
afterAll(() => Promise.all([news.service.close(), shop.service.close()]))

/** The faults of each call come first, so that a bug is found early. */
const BUGGY = { slowMs: SLOW_MS, runs: howMuch(18, 30) }
const CORRECT = { slowMs: SLOW_MS, runs: howMuch(22, 60) }

const rehearsed = (application: Application, options: RehearseOptions = CORRECT) =>
  rehearse(news.service, application(news), options)

const rehearsedShop = (application: SettlingApplication, options: RehearseOptions = CORRECT) =>
  rehearse(shop.service, application(shop), options)

/** The bug, and the verdict and habit that name it. */
const named: Readonly<Record<string, readonly [string, string]>> = {
  'retries without a key': ['paid_twice', 'sends_no_key'],
  'a new key per retry': ['paid_twice', 'new_key_each_try'],
  'keeps a key after a 4xx': ['kept_used_key', 'keeps_key_after_refusal'],
  'gives up on 503 with `Retry-After`': ['gave_up', 'gives_up'],
  'pays before it reads the price': ['charged_more', 'pays_before_price'],
  'ignores a changed price': ['charged_more', 'ignores_changed_price'],
  'writes a secret to its log': ['leaked_secret', 'logs_secrets'],
}

describe('finds and names within 30 runs', () => {
  test.each(Object.entries(named))('%s', async (name, [verdict, habit]) => {
    const { findings } = await rehearsed(buggy[name] as Application, BUGGY)
    expect(findings.map((each) => [each.name, each.habit])).toContainEqual([verdict, habit])
    const other = findings.filter((each) => each.habit !== habit)
    expect(other.map((each) => [each.name, each.habit, each.plan])).toEqual([])
  })
})

const namedOfShops: Readonly<Record<string, readonly [string, string, string]>> = {
  'trusts 200 with `success: false`': ['delivered_unpaid', 'trusts_the_status', 'refused'],
  'never polls': ['left_pending', 'never_polls', 'pending'],
  'signs a new nonce while one is pending': ['paid_twice', 'signs_while_pending', 'pending'],
}

describe('a top-up by card that is tried again', () => {
  const toppedUp = async (keyOf: (key: string) => string) => {
    const { service, user } = news
    const topUp = async (fork: Service) => {
      const { headers } = await fork.sandbox.signIn(EMAIL)
      const key = newKey()
      const send = () =>
        fork.fetch(`/v4/twin/${user.twin.hostname}/topup`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': keyOf(key) },
          body: JSON.stringify({ amount: 5, payment_method_id: 'pm_card_visa' }),
        })
      const answer = await retried(send)
      if (answer.status !== 201) throw new Error(`refused: ${answer.status}`)
    }
    const { findings } = await rehearse(service, topUp, { slowMs: SLOW_MS, runs: 10 })
    return findings.map(({ name, habit, operation, payments }) => [name, habit, operation, payments])
  }

  test('charges twice with a new key', async () => {
    expect(await toppedUp(newKey)).toEqual([['paid_twice', 'new_key_each_try', 'createTopup', 2]])
  })

  test('charges once with the same key', async () => {
    expect(await toppedUp((key) => key)).toEqual([])
  })
})

describe('finds and names within 30 runs, for a shop that settles', () => {
  test.each(Object.entries(namedOfShops))('%s', async (name, [verdict, habit, kind]) => {
    const { findings } = await rehearsedShop(buggyShops[name] as SettlingApplication, BUGGY)
    expect(findings.map((each) => [each.name, each.habit, each.plan.map((fault) => fault.kind)])).toEqual([
      [verdict, habit, [kind]],
    ])
  })
})

describe('has no false alarm for a shop that', () => {
  test.each(Object.entries(correctShops))('%s', async (_, application) => {
    const { findings } = await rehearsedShop(application)
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
  })
})

/** What these do, others do too. `npm run test:all` runs them. */
const alike = [
  'our typed client, which validates what it sold',
  'one key for all tries',
  'the same thing twice, on purpose',
  'says what it delivered',
]

/** At once: most of a run is a wait for the next try. */
describe.concurrent('has no false alarm for', () => {
  test.each(Object.entries(correct).filter(([name]) => isWhole || !alike.includes(name)))(
    '%s',
    async (name, application) => {
      const slowMs = name.includes('limit of time') ? 1.2 * LIMIT_MS : SLOW_MS
      const { findings, isOk, runs } = await rehearsed(application, { ...CORRECT, slowMs })
      expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
      expect(isOk).toBe(true)
      expect(runs).toBeGreaterThan(20)
    },
  )
})

describe('an application that is stopped after a payment and started again', () => {
  const restarted = async (name: string) => {
    const { findings } = await rehearsed(correct[name] as Application, { slowMs: SLOW_MS, runs: 20, restart: true })
    return findings.map(({ name, habit, plan }) => [name, habit, plan.map(({ kind }) => kind)])
  }

  test('pays twice if it forgets its key', async () => {
    expect(await restarted('one key for all tries')).toEqual([['paid_twice', 'new_key_each_try', ['restart']]])
  })

  test('pays once if it remembers it', async () => {
    expect(await restarted('a key that it remembers')).toEqual([])
  })
})

test('the same seed draws the same pairs, and another one others', async () => {
  const { baseline } = await rehearsed(correct['a key that it remembers'] as Application, { runs: 1 })
  const singles = singlePlans(baseline)
  expect(pairPlans(singles, 3)).toEqual(pairPlans(singles, 3))
  expect(pairPlans(singles, 3)).not.toEqual(pairPlans(singles, 4))
  expect(new Set(pairPlans(singles, 3).map(keyOfPlan)).size).toBe(singles.length ** 2)
})
