import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { blockTestedBy } from '../support/docs/markdown.js'
import {
  type Host,
  journey,
  newPayback,
  newPersona,
  parts,
  sellerToken,
  signInByCode,
} from '../support/scenes/journey.js'

const { host, site, page: newPage } = journey()

/** A page of another origin that holds the block of a guide. */
async function opened(service: Host, guide: string, hash = ''): Promise<Page> {
  const block = blockTestedBy('test/docs/element-blocks.test.ts', guide, 'loadMicroPayments')
  const html = block.replaceAll('http://127.0.0.1:4242', service.url).replace('HASH', hash)
  const shop = await site(`<!doctype html><title>A shop</title><link rel="icon" href="data:,">${html}`)
  const page = await newPage()
  await page.route('**/unlock', async (route) => {
    const body = route.request().postDataJSON()
    const token = await sellerToken(service.call)
    const { status } = await service.call('POST', `/v4/payment/${demo.commodities.article}/validate`, { token, body })
    await route.fulfill({ body: status === 200 ? 'The whole story.' : 'This payment is not valid.' })
  })
  await page.goto(shop.url)
  return page
}

describe('The block of the guide', () => {
  it('docs/guides/payment-element.md takes a payment, which the server validates', async () => {
    const service = await host()
    const page = await opened(service, 'docs/guides/payment-element.md')
    const shown = parts(page.frameLocator('#pay iframe'), /^Read for 0\.25 USD$/)
    await signInByCode(service, shown, demo.payer.email)
    await shown.pay.click()
    await page.getByText('The whole story.').waitFor()
    expect((await service.call('GET', '/_sandbox/ledger')).body).toMatchObject({ ok: true })
  })

  it('docs/guides/payback-element.md pays a user for their consent', async () => {
    const service = await host()
    const { hash } = await newPayback(service.call)
    const page = await opened(service, 'docs/guides/payback-element.md', hash)
    const shown = parts(page.frameLocator('#pay iframe'), /^Get 0\.25 USD$/)
    await signInByCode(service, shown, demo.payer.email)
    await shown.allow.click()
    await page.getByText(`Thank you, ${demo.payer.hostname}.`).waitFor()
    const token = await sellerToken(service.call)
    const { events } = (await service.call('GET', '/v4/events?type=payment.created', { token })).body
    expect(events[0].data.consent).toEqual(['You may write to me.', 'Newsletter\nOnce a week, until I say no.'])
  })

  it('docs/guides/verify-element.md verifies a user who has a delegate, and no other', async () => {
    const service = await host()
    const persona = await newPersona(service.call, { name: 'Press pass' })
    await persona.delegate(demo.payer.hostname, 'The payer')
    for (const [email, answer] of [
      [demo.payer.email, `1 press pass of ${demo.payer.hostname}.`],
      [demo.reader.email, 'You have no press pass.'],
    ] as const) {
      const page = await opened(service, 'docs/guides/verify-element.md', persona.hash)
      await signInByCode(service, parts(page.frameLocator('#pay iframe'), /^Verify Press pass$/), email)
      await page.getByText(answer).waitFor()
    }
  })
})
