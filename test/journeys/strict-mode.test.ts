import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import {
  elementHtml,
  fundPayer,
  heardBy,
  journey,
  newPayback,
  newPersona,
  parts,
  shopHtml,
  signInByCode,
  visit,
} from '../support/scenes/journey.js'

// The strictest mode refuses most of what these pages call when others call it.
const { host, site, page: newPage } = journey()

const strictHost = () => host(demo.seed, { evidence: 'documented' })

const namesOf = (heard: Awaited<ReturnType<typeof heardBy>>) => [
  ...new Set(heard.map(({ event }) => event.split(' ')[0])),
]

test('in the strictest mode a reader pays in the payment element', async () => {
  const service = await strictHost()
  await fundPayer(service.call, demo.payer.hostname, 1)
  const page = await newPage()
  const shop = await site(shopHtml(service))
  const shown = parts(await visit(page, shop.url))
  await signInByCode(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  expect(namesOf(await heardBy(page)).sort()).toEqual(['payment', 'purchase'])
  const answer = await fetch(`${service.url}/v4/payment/${demo.commodities.article}`, { method: 'POST' })
  expect(answer.status).toBe(501)
})

test('in the strictest mode a reader verifies, and another gets a payback', async () => {
  const service = await strictHost()
  const { call } = service
  const persona = await newPersona(call, { name: 'Press pass' })
  await persona.delegate(demo.payer.hostname, 'Payer')
  const verify = await newPage()
  const events = ['verified', 'payback']
  const asking = await site(elementHtml(service, { type: 'verify', options: { hash: persona.hash }, events }))
  const verifying = parts(await visit(verify, asking.url), /Press pass/)
  await signInByCode(service, verifying, demo.payer.email)
  await verifying.open.waitFor()
  expect(namesOf(await heardBy(verify))).toEqual(['verified'])

  const { hash } = await newPayback(call)
  const options = { hash, consent: ['You may write to me.'] }
  const paying = await site(elementHtml(service, { type: 'payback', options, events }))
  const page = await newPage()
  const shown = parts(await visit(page, paying.url), /^Get 0\.25 USD$/)
  await signInByCode(service, shown, demo.reader.email)
  await shown.allow.click()
  await shown.open.waitFor()
  expect(namesOf(await heardBy(page))).toEqual(['payback'])
})
