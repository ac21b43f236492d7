// @vitest-environment happy-dom
import { screen } from '@testing-library/dom'
import { userEvent } from '@testing-library/user-event'
import { farthingTest } from 'farthing/vitest'
import { HttpResponse, http } from 'msw'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, expect } from 'vitest'

const server = setupServer()
// MSW 3 has the first name, MSW 2 the second.
const strict = { onUnhandledFrame: 'error', onUnhandledRequest: 'error' } as const
beforeAll(() => server.listen(strict))
afterAll(() => server.close())

const hash = '00000000-0000-4000-8000-0000000000a1'
const test = farthingTest({
  msw: server,
  baseUrl: `${location.origin}/pay`,
  seed: {
    accounts: [{ name: 'The Daily Farthing' }],
    users: [{ email: 'reader@example.test', balance: 1 }],
    commodities: [{ account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  },
})

async function post(path: string, body: object = {}) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}`)
  return answer.json()
}

// The page under test. Yours is in a module of its own. The service's cookie signs the reader in.
function openArticle() {
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

test('a reader signs in, pays and reads on', async ({ client, seeded, codeFor, sandbox }) => {
  // Plays your server. It sends the story if the payment is valid.
  const seller = client.as(seeded.accounts[0])
  const unlock = http.post<never, { nonce: string; timestamp: number }>('/unlock', async ({ request }) => {
    const { ok } = await seller.payments.validate.try(hash, await request.json())
    return ok ? HttpResponse.json({ story: 'The whole story.' }) : new HttpResponse(null, { status: 402 })
  })
  server.use(unlock)
  openArticle()

  const user = userEvent.setup()
  const press = async (name: string) => user.click(await screen.findByRole('button', { name }))
  await user.type(screen.getByLabelText('Email'), 'reader@example.test')
  await press('Continue')
  await screen.findByRole('button', { name: 'Verify' })
  await user.type(screen.getByLabelText('Code'), await codeFor('reader@example.test'))
  await press('Verify')
  await press('Pay')
  await screen.findByText('The whole story.')
  expect((await sandbox.ledger()).ok).toBe(true)
})
