import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { elementHtml, journey, parts, sellerToken, signIn, visit } from '../support/scenes/journey.js'

const { host, site, page: newPage } = journey()

/** A page of a different origin. After its user authorizes it, it calls the paywall as existing clients do. */
async function paywallPage() {
  const service = await host()
  const token = await sellerToken(service.call)
  const { twins } = (await service.call('GET', '/v4/twins', { token })).body
  const [dq] = (await service.call('GET', '/v4/dq')).body.digital_quantities
  const body = { descriptor: 'NEWS.SIGN-IN', dq, cost: 0, twin_id: twins.at(-1).id }
  const { hash } = (await service.call('POST', '/v4/commodity', { token, body })).body
  const html = elementHtml(service, { type: 'auth', options: { hash }, events: ['authorized'] })
  const script = `<script>
    document.addEventListener('authorized', (event) => {
      window.ask = async (amount) => {
        const answer = await fetch('${service.url}/v4/paywall', {
          method: 'POST', credentials: 'include', body: JSON.stringify({ amount }),
          headers: { 'Content-Type': 'application/json', 'X-Session-ID': event.detail.session.session },
        })
        return { status: answer.status, payment: answer.headers.get('x-payment-status'), body: await answer.json() }
      }
    })
  </script>`
  const { url } = await site(html.replace('</body>', `${script}</body>`))
  const page = await newPage()
  const shown = parts(await visit(page, url))
  await signIn(service, shown, demo.payer.email)
  await shown.continue.click()
  await page.waitForFunction('window.ask')
  const [user] = (await service.call('GET', '/_sandbox/snapshot')).body.rows.users
  const ask = (amount: number): Promise<any> => page.evaluate(`ask(${amount})`)
  return { service, ask, userId: user.id as number }
}

test('an authorized page requests payments and gets 200 if approved, 403 if rejected, 408 if ignored', async () => {
  const { service, ask, userId } = await paywallPage()
  const { call } = service
  const phone = (mode: string) => call('POST', `/_sandbox/devices/${userId}`, { body: { mode } })

  await phone('approve')
  const paid = await ask(0.75)
  expect([paid.status, paid.payment, paid.body.approved]).toEqual([200, 'posted', true])
  expect(paid.body.payment).toMatchObject({ amount: 0.75, payee_hostname: demo.account.hostname, status: 'posted' })

  await phone('reject')
  expect((await ask(0.5)).status).toBe(403)

  await call('POST', '/_sandbox/clock', { body: { mode: 'manual' } })
  await phone('ignore')
  const waiting = ask(0.5)
  const pushes = async () => (await call('GET', '/_sandbox/outbox?kind=push')).body.messages.length
  await expect.poll(pushes).toBe(3)
  await call('POST', '/_sandbox/clock', { body: { advance: '30s' } })
  expect((await waiting).status).toBe(408)

  const audit = (await call('GET', '/_sandbox/ledger')).body
  expect([audit.broken, audit.digital_quantities[0].held]).toEqual([null, 0])
  const wallet = await call('GET', `/v4/twin/${demo.account.hostname}`, { token: await sellerToken(call) })
  expect(Object.values(wallet.body.balances)).toEqual([0.75])
})
