// A seller, and a payer who pays in process, without HTTP.
import { createService } from 'farthing'

const BASE = 'http://127.0.0.1:4242'

export async function openShop(options = {}) {
  const service = createService({ ...options, sandbox: true })
  const seeded = await service.sandbox.seed({
    accounts: [{ name: 'Seller' }],
    users: [{ email: 'payer@example.test', balance: 1_000_000_000 }],
    commodities: [{ account: 'Seller', descriptor: 'BENCH', cost: 0.001 }],
  })
  const call = async (path, headers, body) => {
    const answer = await service.fetch(new Request(BASE + path, { method: 'POST', headers, ...(body && { body }) }))
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const [{ client_id, client_secret }] = seeded.users
  const { access_token } = await call('/v4/user/oauth/token', {
    authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}`,
  })
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const pay = () => call(`/v4/payment/${seeded.commodities[0].hash}`, headers, '{}')
  return {
    service,
    pay,
    /** Pays `count` times, `atOnce` at once. */
    async payMany(count, atOnce) {
      for (let done = 0; done < count; done += atOnce) await Promise.all(Array.from({ length: atOnce }, pay))
    },
    /** What the payer reads. */
    async read(path) {
      await (await service.fetch(new Request(BASE + path, { headers }))).text()
    },
  }
}
