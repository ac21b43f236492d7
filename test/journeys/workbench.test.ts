import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { EVERY_STATE_MS, expectAccessible } from '../support/browser/accessible.js'
import { offlineDemo, signInByPhone, visitDemo } from '../support/browser/offline-demo.js'
import { type Host, journey } from '../support/scenes/journey.js'
import { payInWorkbench, said, seed, visit } from '../support/scenes/workbench.js'

const { host, page: newPage } = journey()
const offline = offlineDemo()

/** The workbench in the state in which somebody has paid once. */
async function workbench(options?: Parameters<typeof newPage>[0]): Promise<{ service: Host; page: Page }> {
  const service = await host(seed)
  const page = await newPage(options)
  await payInWorkbench(page, service.url)
  return { service, page }
}

const command = async (page: Page, text: string) => {
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Command' }).fill(text)
  await page.keyboard.press('Enter')
}

test('the data of a new sandbox begins with the first table that has rows', async () => {
  const service = await host(seed)
  const page = await newPage()
  await page.goto(`${service.url}/#/data`)
  await page.getByRole('heading', { name: 'People' }).waitFor()
  await page.getByRole('link', { name: 'Payments' }).click()
  await page.getByText('No payments yet').waitFor()
})

test('clock, faults, forks and saved states are a click or a command away', async () => {
  const { service, page } = await workbench()
  const paid = page.getByRole('link', { name: 'paid 0.25 USD for QUOKKA.ARTICLE' }).first()
  await paid.click()
  await page.getByRole('button', { name: 'Replay in a fork' }).click()
  await page.getByText('The replay answered the same').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await said(page, /^Saved as state-/)
  await command(page, 'advance day')
  await said(page, 'The clock is 1d ahead.')
  await visit(page, 'Break it')
  await page.getByLabel('Every third request gets a 503').check()
  await said(page, 'armed')
  for (let n = 0; n < 3; n++) await fetch(`${service.url}/v4/dq`)
  await page.getByText('happened once').waitFor()
  await page.getByRole('button', { name: '1 fault ✕' }).click()
  await said(page, 'No fault is armed.')
  await command(page, 'new person')
  await page.getByLabel('Email').fill('noa@example.test')
  await page.getByRole('button', { name: 'Create' }).click()
  await said(page, 'noa@example.test has 10.')
  await page.getByText('balanced, 11.00 USD issued').waitFor()
  const [{ name: saved }] = (await service.call('GET', '/_sandbox/snapshots')).body.snapshots
  await page.getByRole('combobox', { name: 'Rewind to' }).selectOption(saved)
  await page.getByText('balanced, 1.00 USD issued').waitFor()
  await command(page, 'reset')
  await said(page, 'Reset to the seed.')
})

test('each fork has a workbench of its own', async () => {
  const { service, page } = await workbench()
  const { url } = (await service.call('POST', '/_sandbox/forks')).body
  await page.goto(`${url}/`)
  await page.getByRole('button', { name: 'Pay as a reader' }).click()
  await page.getByRole('link', { name: 'paid 0.25 USD for QUOKKA.ARTICLE' }).waitFor()
  const payments = async (base: string) => (await fetch(`${base}/_sandbox/rows/payments`)).json()
  expect((await payments(url)).rows).toHaveLength(2)
  expect((await payments(service.url)).rows).toHaveLength(1)
})

test('rows are linked, and a wallet shows both sides of its movements', async () => {
  const { page } = await workbench()
  await visit(page, 'Data')
  await page
    .getByRole('row', { name: /QUOKKA.ARTICLE/ })
    .getByRole('link', { name: 'mia@example.test' })
    .click()
  await page.getByRole('heading', { name: 'People 1' }).waitFor()
  await page.getByRole('link', { name: 'Wallets by owner' }).click()
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByText('0.75 USD', { exact: true }).waitFor()
  const movement = page.getByRole('row', { name: /-0\.25 USD/ })
  expect(await movement.getByRole('cell').allTextContents()).toEqual(
    expect.arrayContaining(['-0.25 USD', '0.25 USD', '0']),
  )
})

test('a rehearsal is a matrix, whose red cells open to their story by the keyboard', async () => {
  const { service, page } = await workbench()
  await visit(page, 'Rehearse')
  await page.getByText(/farthing rehearse --url .* -- npm test/).waitFor()
  const operation = 'createPayment'
  const habit = { verdict: 'paid_twice', habit: 'sends_no_key', operation }
  const told = { title: 'paid twice', sentence: 'The client tries again without an Idempotency-Key.' }
  const diagram = 'client ──createPayment──> service  ✗ no answer'
  const plan = [{ kind: 'lost_after', operation, nth: 1 }]
  const finding = { ...habit, ...told, sureness: 'certain', calls: 2, payments: 2, delivered: 1, plan, diagram }
  const passed = { kind: 'lost_before', operation, nth: 1, state: 'passed', diagram, stories: [] }
  const body = {
    ...{ command: 'npm test', running: true, ok: false, runs: 3, plans: 9, random_seed: 7 },
    flags: ['--slow', '50', '--restart'],
    findings: [{ ...finding, repeat: '--random-seed 7' }],
    cells: [
      passed,
      { ...passed, kind: 'pending' },
      { ...passed, kind: 'lost_after', state: 'failed', stories: [{ ...habit, ...told }] },
    ],
  }
  await service.call('PUT', '/_sandbox/rehearsals/first', { body: { ...body, cells: [passed], findings: [] } })
  const cell = (name: string) => page.getByRole('link', { name: `createPayment 1, ${name}` })
  await cell('Lost before: passed').waitFor()
  await service.call('PUT', '/_sandbox/rehearsals/first', { body })
  await cell('Answer lost: paid twice').waitFor()
  await cell('Pending: passed').waitFor()
  await cell('Lost before: passed').focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('Enter')
  const story = page.getByRole('region', { name: 'Story' })
  await story.getByText('The client tries again without an Idempotency-Key.').waitFor()
  await story.getByText('npx farthing rehearse --random-seed 7 --budget 3 --slow 50 --restart -- npm test').waitFor()
  expect(page.url()).toContain('#/rehearse/first/createPayment%201/lost_after')
  await expectAccessible(page, 'a rehearsal')
})

test('axe finds nothing serious in any view', { timeout: EVERY_STATE_MS }, async () => {
  const { page } = await workbench({ colorScheme: 'dark' })
  await page.getByRole('link', { name: 'paid 0.25 USD for QUOKKA.ARTICLE' }).click()
  await expectAccessible(page, 'a request')
  for (const view of ['Inbox', 'Data', 'States', 'Try', 'Break it', 'Rehearse', 'Connect']) {
    await visit(page, view)
    // The view before may still be there, with its frames.
    await page.locator('[aria-current=page]', { hasText: view }).first().waitFor()
    await page.getByRole('heading', { level: 2 }).first().waitFor()
    await expectAccessible(page, view)
  }
  await page.keyboard.press('Control+k')
  await expectAccessible(page, 'the commands')
})

test('the offline demo has a workbench of the service in its worker', async () => {
  const hosted = await offline.sandbox()
  const page = await newPage()
  const shown = await visitDemo(page, hosted)
  await signInByPhone(shown, shown.article)
  await shown.article.pay.click()
  await page.getByRole('link', { name: 'Workbench' }).click()
  await page.getByRole('link', { name: 'paid 0.25 USD for NEWS.ARTICLE' }).waitFor()
  await page.getByText('balanced, 40.00 USD, 20.00 USDC issued').waitFor()
})
