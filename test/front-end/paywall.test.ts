// @vitest-environment happy-dom
import { screen } from '@testing-library/dom'
import { userEvent } from '@testing-library/user-event'
import { createService } from 'farthing'
import { handlers } from 'farthing/msw'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'

const server = setupServer()
beforeAll(() => server.listen({ onUnhandledRequest: 'error' }))
afterEach(() => server.resetHandlers())
afterAll(() => server.close())

const json = { 'content-type': 'application/json' }

async function post(path: string, body: object = {}) {
  const answer = await fetch(path, { method: 'POST', headers: json, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`)
  return answer.json()
}

// The page under test. Yours is in a module of its own. The service's cookie signs the reader in.
function openArticle(hash: string) {
  document.body.innerHTML = `<article>The first lines are free.</article>
    <form><label>Email <input name="email"></label> <label>Code <input name="code"></label> <button>Continue</button></form>`
  const [article, form, button] = document.querySelectorAll<HTMLFormElement>('article, form, button')
  form?.addEventListener('submit', async (event) => {
    event.preventDefault()
    const { email, code } = Object.fromEntries(new FormData(form))
    if (button?.textContent === 'Continue') {
      await post('/pay/v4/session/code', { email })
      button.textContent = 'Verify'
    } else if (button?.textContent === 'Verify') {
      await post('/pay/v4/session/verify', { email, code })
      button.textContent = 'Pay'
    } else {
      const { nonce, timestamp } = await post(`/pay/v4/payment/${hash}`)
      article?.replaceChildren((await post('/unlock', { nonce, timestamp })).story)
    }
  })
}

test('a reader signs in, pays and reads on', async () => {
  const hash = '00000000-0000-4000-8000-0000000000a1'
  const service = createService({ baseUrl: `${location.origin}/pay`, sandbox: true })
  const { accounts } = await service.sandbox.seed({
    accounts: [{ name: 'The Daily Farthing' }],
    users: [{ email: 'reader@example.test', balance: 1 }],
    commodities: [{ account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  })
  // Plays your server. It sends the story if the payment is valid.
  const basic = btoa(`${accounts[0]?.client_id}:${accounts[0]?.client_secret}`)
  const ask = (path: string, authorization: string, body = '') =>
    service.fetch(new Request(service.baseUrl + path, { method: 'POST', headers: { ...json, authorization }, body }))
  const unlock = http.post('/unlock', async ({ request }) => {
    const { access_token } = await (await ask('/v4/account/oauth/token', `Basic ${basic}`)).json()
    const { ok } = await ask(`/v4/payment/${hash}/validate`, `Bearer ${access_token}`, await request.text())
    return ok ? HttpResponse.json({ story: 'The whole story.' }) : new HttpResponse(null, { status: 402 })
  })
  server.use(...handlers(service), unlock)
  openArticle(hash)

  const user = userEvent.setup()
  const press = async (name: string) => user.click(await screen.findByRole('button', { name }))
  await user.type(screen.getByLabelText('Email'), 'reader@example.test')
  await press('Continue')
  await screen.findByRole('button', { name: 'Verify' })
  await user.type(screen.getByLabelText('Code'), `${(await service.sandbox.outbox()).messages[0]?.codes[0]}`)
  await press('Verify')
  await press('Pay')
  await screen.findByText('The whole story.')
  expect((await service.sandbox.ledger()).ok).toBe(true)
  await service.close()
})
