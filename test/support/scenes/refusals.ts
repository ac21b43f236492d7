import type { Page } from 'playwright-core'
import { demo } from '../../../sandbox/seed/demo.js'
import { codeFor, type Host, journey, openSignedIn, type Parts, parts, shopHtml, visit } from './journey.js'

/** Readers of a shop's page, up to where something is refused. */

export const reader = 'reader@example.test'

/** The calls that pay. */
export const payment = '**/v4/payment/*'

/** Movements that the seed makes: one for each of its readers. */
const funded = (demo.seed.users?.length ?? 0) + (demo.seed.wallets ?? []).filter(({ balance }) => balance).length

/** How often, and how much, was paid. */
async function paid({ call }: Host): Promise<{ movements: number; ok: boolean }> {
  const { body } = await call('GET', '/_sandbox/ledger')
  return { movements: body.movements - funded, ok: body.ok }
}

export function refusals() {
  const { host, site, page: newPage } = journey()

  /** A shop's page whose embed is open. */
  async function opened(): Promise<{ service: Host; page: Page; shown: Parts }> {
    const service = await host()
    const shop = await site(shopHtml(service))
    const page = await newPage()
    const shown = parts(await visit(page, shop.url))
    return { service, page, shown }
  }

  /** As `opened`, ready to pay. */
  async function signedIn() {
    const all = await opened()
    await openSignedIn(all.service, all.shown, demo.payer.email)
    return all
  }

  async function askedForCode(email = reader) {
    const all = await opened()
    await all.shown.open.click()
    await all.shown.email.fill(email)
    await all.shown.continue.click()
    return { ...all, code: await codeFor(all.service.call, all.shown, email) }
  }

  return { host, site, newPage, opened, signedIn, askedForCode, paid }
}
