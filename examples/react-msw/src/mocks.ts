import { createService } from 'farthing'
import { client } from 'farthing/client'
import { handlers } from 'farthing/msw'
import { HttpResponse, http } from 'msw'

/** A payment service with a seller, a reader and an article, and the handlers that answer for it. */
export async function createMocks({ balance = 5 } = {}) {
  const service = createService({ baseUrl: new URL('/pay', location.href).href, sandbox: true })
  const { accounts, users, commodities } = await service.sandbox.seed({
    accounts: [{ name: 'The Daily Farthing' }],
    users: [{ email: 'reader+code123456@example.test', balance }],
    commodities: [
      {
        account: 'The Daily Farthing',
        descriptor: 'NEWS.ARTICLE',
        cost: 0.25,
        hash: '00000000-0000-4000-8000-0000000000a1',
      },
    ],
  })
  const [account] = accounts
  const [reader] = users
  const [article] = commodities
  if (!account || !reader || !article) throw new Error('The seed has an account, a user and a commodity.')
  const seller = client(service).as(account)

  // Plays your own server: it sends the story for a valid payment.
  const unlock = http.post('/api/unlock', async ({ request }) => {
    const { hash, nonce, timestamp } = (await request.json()) as { hash: string; nonce: string; timestamp: number }
    const { ok } = await seller.payments.validate.try(hash, { nonce, timestamp })
    return ok ? HttpResponse.json({ story: 'The whole story.' }) : HttpResponse.json({}, { status: 402 })
  })
  return { service, seller, reader, article, handlers: [...handlers(service), unlock] }
}
