import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { codeFor, heardBy, openWithSession, sellerToken, signInByCode } from '../support/scenes/journey.js'
import { pressPasses } from '../support/scenes/press-passes.js'

const { opened } = pressPasses()
const none = `${demo.payer.email} has no Press pass that this page accepts.`

test("a reader with a delegate is verified, and the page's server checks their identity", async () => {
  const { service, call, hash, delegates, page, asked, shown } = await opened({ issueMin: 1, issueMax: 2 })
  expect(asked[2]).toBe(`/v3/persona/${hash}?embed=false&public_secret=${demo.account.public_secret}`)
  expect(new URL(service.url + asked[3]).pathname).toBe(`/v3/verify/embed/${hash}`)
  expect(await page.locator('iframe').getAttribute('title')).toBe('Verification: Press pass')
  expect(await page.locator('iframe').boundingBox()).toMatchObject({ width: 171, height: 48 })
  expect(await shown.open.textContent()).toBe('Verify Press pass')
  await signInByCode(service, shown, demo.payer.email)
  await shown.open.waitFor()
  expect(await shown.done.textContent()).toBe('Verified: Press pass.')

  const heard = await heardBy(page)
  expect(heard.map(({ event }) => event).sort()).toEqual([
    ...['verified on document', 'verified on root', 'verified on window'],
    ...['verify on document', 'verify on root', 'verify on window'],
  ])
  for (const { detail } of heard)
    expect(detail).toEqual({
      hash,
      hostname: demo.payer.hostname,
      nonce: expect.any(String),
      timestamp: expect.any(Number),
      instances: delegates,
    })
  const { hostname, nonce } = heard[0]?.detail ?? {}
  const token = await sellerToken(call)
  const check = () => call('PUT', '/v2/twin/nonce', { token, body: { hostname, nonce } })
  expect((await check()).body).toEqual({ valid: true, hostname: demo.payer.hostname })
  expect((await check()).status).toBe(400)
})

test('a reader without a delegate is told once per try, and may use another email', async () => {
  const { service, page, frame, shown } = await opened({ issueMin: 3, issueMax: 4 })
  await signInByCode(service, shown, demo.payer.email)
  await expect.poll(() => shown.alert.textContent()).toBe(none)
  const unverified = (await heardBy(page)).map(({ event }) => event).sort()
  expect(unverified).toEqual(['unverified on document', 'unverified on root', 'unverified on window'])
  await frame.getByRole('button', { name: 'Use another email' }).click()
  expect(await shown.alert.isVisible()).toBe(false)
  expect(await shown.email.inputValue()).toBe('')
  await shown.email.fill(demo.reader.email)
  await shown.continue.click()
  await shown.code.fill(await codeFor(service.call, shown, demo.reader.email))
  await shown.verify.click()
  await shown.open.waitFor()
  const last = (await heardBy(page)).at(-1)
  expect(last).toMatchObject({ event: expect.stringMatching(/^verif/), detail: { hostname: demo.reader.hostname } })
  expect(await heardBy(page)).toHaveLength(3 + 6)
})

test('a page learns nothing about a signed-in reader before they verify', async () => {
  const { service, page, frame, shown } = await opened()
  await openWithSession(service, shown, demo.payer.email)
  await frame.locator('#signed-in-as').getByText(demo.payer.email).waitFor()
  expect(await frame.getByText('The page learns that you have it').isVisible()).toBe(true)
  // On a busy machine, a press soon after the frame has grown misses it. This button waits until the browser shows the frame.
  await shown.verify.click({ trial: true })
  await shown.cancel.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toEqual([])
  await page.evaluate('element.toggle()')
  await shown.verify.click()
  await shown.open.waitFor()
  expect(await heardBy(page)).toHaveLength(6)
})

test('a page never learns of a delegate that lets it spend', async () => {
  const { service, call, hash, delegates, page, shown } = await opened({ issueMax: 4 })
  const token = await sellerToken(call)
  const [dq] = (await call('GET', '/v4/dq')).body.digital_quantities
  const spend = { party: { public_secret: demo.account.public_secret }, dq, limit: 1 }
  const given = { hostname: demo.payer.hostname, spend }
  expect((await call('POST', `/v3/persona/${hash}/delegate`, { token, body: given })).status).toBe(201)
  await openWithSession(service, shown, demo.payer.email)
  await shown.verify.click()
  await shown.open.waitFor()
  expect((await heardBy(page))[0]?.detail).toMatchObject({ instances: delegates })
})

test('verification checks every twin of the reader', async () => {
  const { service, call, page, hash, shown } = await opened({ issueMin: 4 })
  const { session_id } = (await call('GET', '/v4/session')).body
  await call('POST', '/v4/session/code', { session: session_id, body: { email: demo.payer.email } })
  const body = { email: demo.payer.email, code: demo.payer.code }
  const session = (await call('POST', '/v4/session/verify', { session: session_id, body })).body.session_id
  const [dq] = (await call('GET', '/v4/dq')).body.digital_quantities
  const twins = []
  for (let made = 0; made < 3; made++) twins.push((await call('POST', '/v4/twin', { session, body: { dq } })).body)
  const token = await sellerToken(call)
  const given = { hostname: twins[1].hostname, name: 'Payer', email: demo.payer.email }
  expect((await call('POST', `/v3/persona/${hash}/delegate`, { token, body: given })).status).toBe(201)
  await openWithSession(service, shown, demo.payer.email)
  await shown.verify.click()
  await shown.open.waitFor()
  expect((await heardBy(page))[0]?.detail.hostname).toBe(twins[1].hostname)
})
