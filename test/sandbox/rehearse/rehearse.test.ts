import { describe, expect, onTestFinished, test } from 'vitest'
import { rehearse } from '../../../src/sandbox/rehearse/rehearse.js'
import { type Application, buggy, correct, newsService, SLOW_MS } from './shop.js'

async function rehearsed(application: Application) {
  const news = await newsService()
  onTestFinished(() => news.service.close())
  return rehearse(news.service, application(news), { slowMs: SLOW_MS, runs: 60 })
}

/** The bug, and the verdict and habit that name it. */
const named: Readonly<Record<string, readonly [string, string]>> = {
  'retries without a key': ['paid_twice', 'sends_no_key'],
  'a new key per retry': ['paid_twice', 'new_key_each_try'],
  'keeps a key after a 4xx': ['kept_used_key', 'keeps_key_after_refusal'],
  'gives up on 503': ['gave_up', 'gives_up'],
  'pays before it reads the price': ['charged_more', 'pays_before_price'],
  'ignores a changed price': ['charged_more', 'ignores_changed_price'],
  'writes a secret to its log': ['leaked_secret', 'logs_secrets'],
}

describe('finds and names within 60 runs', () => {
  test.each(Object.entries(named))('%s', async (name, [verdict, habit]) => {
    const { findings, runs } = await rehearsed(buggy[name] as Application)
    expect(runs).toBeLessThanOrEqual(60)
    expect(findings.map((each) => [each.name, each.habit])).toContainEqual([verdict, habit])
    const other = findings.filter((each) => each.habit !== habit)
    expect(other.map((each) => [each.name, each.habit, each.plan])).toEqual([])
  })
})

describe('has no false alarm for', () => {
  test.each(Object.entries(correct))('%s', async (_, application) => {
    const { findings, isOk, runs } = await rehearsed(application)
    expect(findings.map(({ name, habit, plan }) => [name, habit, plan])).toEqual([])
    expect(isOk).toBe(true)
    expect(runs).toBeGreaterThan(20)
  })
})
