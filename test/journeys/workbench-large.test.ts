import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { memoryStorage } from '../../adapters/storage/memory.js'
import type { Reader, Storage } from '../../src/storage/storage.js'
import { journey } from '../support/scenes/journey.js'
import { writePayments } from '../support/scenes/many-payments.js'

const { host, page: newPage } = journey()

/** More than one call looks at. `FARTHING_PAYMENTS=100000` writes more. */
const PAYMENTS = Number(process.env.FARTHING_PAYMENTS ?? 25_000)
/** Requests of one caller that take turns. */
const REQUESTS = 300
/** Of one story. */
const MOST_STEPS_SHOWN = 24
/** What one call looks at, and the slice in which it finds out that there is more. */
const MOST_ROWS_READ = 20_500
/** A page of rows, and what else a view has. */
const MOST_ROWS_SHOWN = 400

const seed = {
  accounts: [{ name: 'Quokka Press' }],
  users: Array.from({ length: 20 }, (_, n) => ({ email: `reader${n}@example.test`, balance: 1000 })),
  commodities: [{ account: 'Quokka Press', descriptor: 'QUOKKA.ARTICLE', cost: 0.25 }],
}

/** A storage that counts the rows that its reads find. */
function rowCounting(inner: Storage): Storage & { rows: number } {
  const counted = {
    ...inner,
    rows: 0,
    read: <T>(body: (tx: Reader) => Promise<T>) =>
      inner.read((tx) =>
        body({
          ...{ get: (from, id) => tx.get(from, id), getMany: (from, ids) => tx.getMany(from, ids) },
          async find(from, query) {
            const rows = await tx.find(from, query)
            counted.rows += rows.length
            return rows
          },
        }),
      ),
  }
  return counted
}

const shownRows = (page: Page) => page.locator('tbody tr, .stories li, .mails li').count()

test('with very many payments, each view shows a page of rows, and each filter reads a part of them', async () => {
  const storage = rowCounting(memoryStorage())
  const service = await host(seed, { storage })
  expect((await service.call('GET', '/_sandbox/ledger')).body.ok).toBe(true)
  await writePayments(storage, PAYMENTS)
  for (let n = 0; n < REQUESTS; n++) await service.call('GET', n % 2 === 0 ? '/v4/dq' : '/v4/plans')
  const page = await newPage()
  await page.goto(`${service.url}/`)
  await page.getByText('balanced, 20000.00 USD issued').waitFor()
  for (const view of ['Live', 'Inbox', 'Data', 'States', 'Try', 'Break it', 'Connect']) {
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: view }).click()
    await page.locator('[aria-current=page]', { hasText: view }).first().waitFor()
    await page.locator('main h2, .step').first().waitFor()
    expect([view, (await shownRows(page)) <= MOST_ROWS_SHOWN]).toEqual([view, true])
  }

  await page.getByRole('link', { name: 'Live' }).click()
  await page.locator('.step').first().waitFor()
  const steps = await page
    .locator('.story')
    .evaluateAll((stories) => stories.map((story) => story.querySelectorAll('.step').length))
  expect(Math.max(...steps)).toBe(MOST_STEPS_SHOWN)

  // It reads again and again.
  await page.close()
  const { collections } = (await service.call('GET', '/_sandbox/rows')).body
  const read: Record<string, number> = {}
  for (const name of ['payments', 'movements', 'entries']) {
    const { refs } = collections.find((each: { name: string }) => each.name === name)
    const [newest] = (await service.call('GET', `/_sandbox/rows/${name}?limit=1`)).body.rows
    const filters = Object.keys(refs).map((field) => [field, `field=${field}&value=${newest[field]}`])
    for (const [field, query] of [...filters, ['q', 'q=nothing has this text']]) {
      storage.rows = 0
      const { status, body } = await service.call('GET', `/_sandbox/rows/${name}?limit=50&${query}`)
      expect([name, field, status, body.rows.length > 0]).toEqual([name, field, 200, field !== 'q'])
      read[`${name} by ${field}`] = storage.rows
    }
  }
  expect(Object.entries(read).filter(([, rows]) => rows > MOST_ROWS_READ)).toEqual([])
  // The wallet that issued value has the oldest entries: its own index finds them without the others.
  storage.rows = 0
  const issued = (await service.call('GET', '/_sandbox/rows/entries?field=twin_id&value=1')).body
  expect([issued.rows.length, issued.next, storage.rows]).toEqual([seed.users.length, null, seed.users.length])
})
