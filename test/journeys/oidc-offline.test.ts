import { expect, test } from 'vitest'
import { offlineDemo, visitDemo } from '../support/browser/offline-demo.js'
import { journey } from '../support/scenes/journey.js'
import { CHALLENGE } from '../support/scenes/oidc.js'

const { page: newPage } = journey()
const offline = offlineDemo()

test('a service worker connects an app without a server: it serves redirects, cookies and pages', async () => {
  const page = await newPage()
  const hosted = await offline.sandbox()
  await visitDemo(page, hosted)
  const base = `${hosted.url}pay`
  // The app is a page of the same place, so that nothing is asked of a network.
  const callback = `${hosted.url}?back`
  const post = (path: string, body: object) =>
    page.evaluate(
      async ([address, sent]) => {
        const headers = { 'content-type': 'application/json' }
        return (await fetch(address as string, { method: 'POST', headers, body: sent as string })).json()
      },
      [base + path, JSON.stringify(body)],
    )
  const metadata = { redirect_uris: [callback], token_endpoint_auth_method: 'none', client_name: 'Errand Runner' }
  const { client_id } = await post('/v4/oidc/reg', metadata)
  await hosted.close()

  const query = new URLSearchParams({
    ...{ client_id, redirect_uri: callback, response_type: 'code', scope: 'openid email' },
    ...{ code_challenge: CHALLENGE, code_challenge_method: 'S256' },
  })
  await page.goto(`${base}/v4/oidc/auth?${query}`)
  await page.getByRole('textbox', { name: 'Email' }).fill('ada+code123456@example.test')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('textbox', { name: 'Code' }).fill('123456')
  await page.getByRole('button', { name: 'Verify' }).click()
  await page.getByRole('button', { name: 'Allow' }).click()
  await page.waitForURL(/\?back&code=/)
  expect(new URL(page.url()).searchParams.get('iss')).toBe(`${base}/v4/oidc`)
})
