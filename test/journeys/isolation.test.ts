import { expect, test } from 'vitest'
import { demo } from '../../sandbox/seed/demo.js'
import { heardBy, journey, parts, shopHtml, signIn, visit } from '../support/scenes/journey.js'
import { newSession } from '../support/scenes/world.js'

const { host, site, page: newPage } = journey()

const forged = `_TQMSuccess;${JSON.stringify({ hostname: 'thief.test', nonce: 'forged', timestamp: 1 })}`

test('the embed sends its page strings in the order that clients expect', async () => {
  const service = await host()
  const shop = await site(shopHtml(service))
  const page = await newPage()
  await page.addInitScript(
    `window.said = []; addEventListener('message', ({ data, origin }) => said.push([data, origin]))`,
  )
  const shown = parts(await visit(page, shop.url))
  await signIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  const said = (await page.evaluate('window.said')) as [unknown, string][]
  expect(said.map(([data]) => String(data).split(';')[0])).toEqual([
    '_TQMResize',
    '_TQMFullScreen',
    '_TQMSuccess',
    '_TQMRelativeScreen',
    '_TQMResize',
  ])
  for (const [data, origin] of said) {
    expect(data).toEqual(expect.any(String))
    expect(origin).toBe(service.url)
  }
  const success = said.map(([data]) => String(data)).find((data) => data.startsWith('_TQMSuccess;')) as string
  expect(JSON.parse(success.slice(success.indexOf(';') + 1))).toEqual({
    hostname: demo.payer.hostname,
    nonce: expect.any(String),
    timestamp: expect.any(Number),
    session: { session: expect.any(String) },
  })
})

test('the element accepts messages only from its own frame', async () => {
  const service = await host()
  const stranger = await site(`<!doctype html><script>
    for (const said of ['_TQMFullScreen', '_TQMResize;{"width":900,"height":900}', ${JSON.stringify(forged)}])
      parent.postMessage(said, '*')
    parent.postMessage('done', '*')
  </script>`)
  const shop = await site(shopHtml(service))
  const page = await newPage()
  await page.addInitScript(`addEventListener('message', ({ data }) => { if (data === 'done') window.done = true })`)
  const shown = parts(await visit(page, shop.url))
  const place = await page.locator('iframe').boundingBox()
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('iframe'), { src: '${stranger.url}', id: 'stranger' }))`,
  )
  await page.waitForFunction('window.done')
  await page.evaluate(`for (const said of ['_TQMFullScreen', ${JSON.stringify(forged)}]) postMessage(said, '*')`)
  await shown.open.waitFor()
  expect(await heardBy(page)).toEqual([])
  expect(await page.locator('#pay iframe').boundingBox()).toEqual(place)
  // Not even its own frame, once that shows another origin.
  await page.evaluate(`window.done = false; document.querySelector('#pay iframe').src = '${stranger.url}'`)
  await page.waitForFunction('window.done')
  expect(await heardBy(page)).toEqual([])
  expect(await page.locator('#pay iframe').boundingBox()).toEqual(place)
})

test('the embed accepts messages only from the page that holds it', async () => {
  const service = await host()
  const stranger = await site(
    `<!doctype html><script>parent.frames[0].postMessage('_TQMToggle', '*'); parent.postMessage('done', '*')</script>`,
  )
  const shop = await site(shopHtml(service))
  const page = await newPage()
  await page.addInitScript(`addEventListener('message', ({ data }) => { if (data === 'done') window.done = true })`)
  const shown = parts(await visit(page, shop.url))
  await page.evaluate(
    `document.body.append(Object.assign(document.createElement('iframe'), { src: '${stranger.url}' }))`,
  )
  await page.waitForFunction('window.done')
  // What is said after it by the page itself is heard, so the other was not merely slow.
  await page.evaluate(`frames[0].postMessage({ name: '_TQMToggle' }, '*'); frames[0].postMessage('_TQMToggle;{}', '*')`)
  await shown.email.waitFor()
  await page.evaluate(`frames[0].postMessage('_TQMToggle', '*')`)
  await shown.open.waitFor()
})

test('texts and styles of a hostile page cannot inject markup or rules into the embed', async () => {
  const service = await host()
  const evil = '<img src=x onerror=alert(1)><style>#open{display:none}</style>'
  const styles = {
    colorText: '#fff',
    colorBackground: '#fff',
    fontFamily: 'x;}*{display:none',
    border: 'url(x)',
    padding: '9999px',
  }
  const options = { hash: demo.commodities.article, leading: `Pay ${evil}`, trailing: evil, styles }
  const shop = await site(shopHtml(service, options))
  const page = await newPage()
  const frame = await visit(page, shop.url)
  expect(await frame.locator('img').count()).toBe(0)
  expect(await frame.locator('#open').textContent()).toBe(`Pay ${evil} 0.25 USD ${evil}`)
  await frame.locator('#open').click()
  const colors = await frame.getByText('Sign in to pay').evaluate((node) => getComputedStyle(node).color)
  expect(colors).toBe('rgb(0, 0, 0)')
})

test('a cookie of the same site does not decide who pays', async () => {
  const service = await host()
  const session = await newSession(service.call, 'someone-else@example.test')
  const page = await newPage()
  await page.context().addCookies([{ name: 'session_id', value: session, url: service.url }])
  await page.goto(`${service.url}/shop`)
  const shown = parts(page.frameLocator('iframe'))
  await signIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await page.getByText('Paid and validated').waitFor()
  const token = (await page.context().cookies()).find(({ name }) => name === 'session_id')
  expect(token?.value).toBe(session)
})

test('the embed works in its own window, without a page to notify', async () => {
  const service = await host()
  const page = await newPage()
  await page.goto(`${service.url}/v4/embed/${demo.commodities.song}`)
  const shown = parts(page as never)
  await signIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  expect(await page.getByRole('status').textContent()).toBe('Paid 0.99 USD.')
})

test('a reader can pay in a sandboxed frame without storage if the origin null is allowed', async () => {
  // A sandboxed frame is of the origin `null`, as anybody's can be.
  const service = await host(undefined, { allowOrigins: ['null'] })
  const { article } = demo.commodities
  const frame = `<iframe sandbox="allow-scripts allow-forms" src="${service.url}/v4/embed/${article}" width="400" height="600">`
  const page = await newPage()
  await page.goto((await site(`<!doctype html><title>A shop</title><div id="pay">${frame}</iframe></div>`)).url)
  await page.evaluate(`window.said = []; addEventListener('message', ({ data }) => said.push(data.split(';')[0]))`)
  const shown = parts(page.frameLocator('#pay iframe'))
  await signIn(service, shown, demo.payer.email)
  await shown.pay.click()
  await shown.open.waitFor()
  expect(await page.evaluate('window.said')).toContain('_TQMSuccess')
})
