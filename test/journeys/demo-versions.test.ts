import { expect, test } from 'vitest'
import { SCHEMA } from '../../src/core.js'
import { offlineDemo, visitDemo } from '../support/browser/offline-demo.js'
import { journey } from '../support/scenes/journey.js'

const { page: newPage } = journey()
const offline = offlineDemo()

/** What a tab with a newer release does to the database, up to the number. Resolves when the shop's worker has let go of it. */
async function changeSchema([to]: readonly [number]): Promise<string[]> {
  const names = (await indexedDB.databases()).flatMap(({ name }) => (name?.startsWith('farthing ') ? [name] : []))
  for (const name of names) {
    const at = (await indexedDB.databases()).find((each) => each.name === name)?.version ?? 0
    await new Promise<void>((resolve, reject) => {
      const opening = indexedDB.open(name, at + 1)
      opening.onupgradeneeded = () => opening.transaction?.objectStore('schema').put(to, 'schema')
      opening.onerror = () => reject(opening.error)
      opening.onsuccess = () => {
        opening.result.close()
        resolve()
      }
    })
  }
  return names
}

test('a page whose state a newer release has migrated asks to be reloaded, and loses nothing', async () => {
  const page = await newPage()
  const hosted = await offline.sandbox()
  const shown = await visitDemo(page, hosted)
  const stored = () => page.evaluate(async () => (await fetch('pay/_sandbox/snapshot')).json())
  const before = await stored()
  expect(before.schema).toBe(SCHEMA)

  expect(await page.evaluate(changeSchema, [SCHEMA + 1] as const)).toHaveLength(1)
  expect(await stored()).toMatchObject({ status: 503, code: 'storage_unavailable', schema: SCHEMA + 1 })
  await shown.reset.click()
  await page.getByRole('dialog').getByRole('button', { name: /Reset/ }).click()
  await page.getByRole('heading', { name: 'A newer version of this shop is open' }).waitFor()
  await page.getByText('A newer version of this page is open: reload this page.').waitFor()

  // A page of the same release that is loaded now says the same. The newer one would open its state.
  const told = page.getByRole('button', { name: 'Reload' })
  await told.click()
  await told.waitFor()
  await page.evaluate(changeSchema, [SCHEMA] as const)
  await told.click()
  await shown.reset.waitFor()
  expect(await stored()).toEqual(before)
})

test('a page that finds the state of an older release migrates it, and keeps a copy', async () => {
  const page = await newPage()
  const shown = await visitDemo(page, await offline.sandbox())
  const stored = () => page.evaluate(async () => (await fetch('pay/_sandbox/snapshot')).json())
  const before = await stored()
  const [name] = await page.evaluate(changeSchema, [1] as const)
  await page.reload()
  await shown.reset.waitFor()
  expect(await stored()).toEqual(before)
  const names = await page.evaluate(async () => (await indexedDB.databases()).map((database) => database.name))
  expect(names).toContain(`${name}.v1`)
})
