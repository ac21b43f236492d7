import { client } from 'farthing/client'
import { fire } from 'farthing/service-worker'
import { createService } from 'farthing/slim'
import { indexedDbStorage } from 'farthing/storage/indexeddb'

const account = {
  name: 'The Daily Farthing',
  client_id: 'mid_00000000000000000000000000000001',
  client_secret: 'mc_00000000000000000000000000000001',
  public_secret: 'mp_00000000000000000000000000000001',
}
const hash = '00000000-0000-4000-8000-0000000000a1'

const service = createService({
  storage: indexedDbStorage(),
  baseUrl: new URL('pay', location.href).href,
  sandbox: true,
  seed: {
    accounts: [account],
    users: [{ email: 'reader+code123456@example.test', balance: 5 }],
    commodities: [{ account: account.name, descriptor: 'NEWS.ARTICLE', cost: 0.25, hash }],
  },
})
const seller = client(service).as(account)

/** Plays the server of the shop: it sends the story for a valid payment. */
async function unlock(request: Request): Promise<Response> {
  const { nonce, timestamp } = await request.json()
  const { ok } = await seller.payments.validate.try(hash, { nonce, timestamp })
  return new Response(ok ? 'The whole story.' : 'This payment is not valid.', { status: ok ? 200 : 402 })
}

fire(
  {
    baseUrl: service.baseUrl,
    respond: (request, source) =>
      request.url === `${service.baseUrl}/unlock` ? unlock(request) : service.respond(request, source),
  },
  // The page, with the scripts and styles that its HTML names.
  { precache: ['./'] },
)
