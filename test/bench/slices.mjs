// How long other calls wait while the whole ledger is audited, a binder is streamed, or the catalog is searched.
import { createService } from 'farthing'
import { memoryStorage } from 'farthing/storage/memory'

const BASE = 'http://127.0.0.1:4242'

/** A service with this many payments of one twin, and this many items in the catalog. */
async function bigService({ payments, items }) {
  const service = createService({ storage: memoryStorage(), sandbox: true, limits: { snapshotBytes: 2 ** 40 } })
  const ask = async (method, path, { token, body, accept } = {}) => {
    const headers = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body && { 'content-type': 'application/json' }),
      ...(accept && { accept }),
    }
    const answer = await service.fetch(
      new Request(BASE + path, { method, headers, ...(body && { body: JSON.stringify(body) }) }),
    )
    const text = await answer.text()
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text
  }
  const tokenOf = async ({ client_id, client_secret }) => {
    const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
    return (
      await (await service.fetch(new Request(`${BASE}/v4/account/oauth/token`, { method: 'POST', headers }))).json()
    ).access_token
  }
  const seeded = await service.sandbox.seed({
    accounts: [{ name: 'Shop', hostname: 'shop.test' }],
    users: [{ email: 'ada@example.test', hostname: 'ada.test', balance: 1_000_000 }],
    commodities: [{ account: 'Shop', descriptor: 'NEWS', cost: 0.01 }],
  })
  const payer = await tokenOf(seeded.users[0])
  const { hash } = seeded.commodities[0]
  const pay = () => ask('POST', `/v4/payment/${hash}`, { token: payer })
  for (let n = 0; n < payments; n++) await pay()
  if (items > 0) await addItems(service, { seller: await tokenOf(seeded.accounts[0]), items, ask })
  return { service, ask, pay, payer }
}

/** Copies one item many times behind the interface, because a plan limits what an account may sell. */
async function addItems(service, { seller, items, ask }) {
  const schema = { type: 'object', properties: {} }
  for (let n = 0; n < items; n++) {
    if (n % 25 === 0 && n > 0) seller = (await newSeller(ask, service)).token
    const word = WORDS[n % WORDS.length]
    await ask('POST', '/v4/catalog/items', {
      token: seller,
      body: {
        ...{
          name: `${word} number ${n}`,
          description: `Says something about ${word} and ${WORDS[(n * 7) % WORDS.length]}.`,
        },
        ...{
          price: 1,
          service_method: 'POST',
          external_endpoint: 'https://api.example.test/',
          service_schema: schema,
          featured: false,
        },
      },
    })
  }
}

const WORDS = 'weather stocks poems maps recipes trains songs chess stars rivers cities birds games laws cells'.split(
  ' ',
)

async function newSeller(ask, service) {
  const { secrets } = await ask('POST', '/v4/account')
  const { client_id, client_secret } = secrets.find((secret) => secret.client_id)
  const headers = { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` }
  const answer = await service.fetch(new Request(`${BASE}/v4/account/oauth/token`, { method: 'POST', headers }))
  return { token: (await answer.json()).access_token }
}

/** The longest that a payment waits while `work` runs, and how long the work takes, in milliseconds. */
async function waitDuring(work, pay) {
  let isDone = false
  const began = performance.now()
  const done = work().finally(() => {
    isDone = true
  })
  let longest = 0
  while (!isDone) {
    const asked = performance.now()
    await pay()
    longest = Math.max(longest, performance.now() - asked)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await done
  return { longest, took: performance.now() - began }
}

export async function slicesFigures() {
  const figures = []
  for (const payments of [10_000, 100_000]) {
    const { service, ask, pay, payer } = await bigService({ payments, items: 0 })
    const works = {
      audit: () => service.sandbox.ledger(),
      binder: () => ask('GET', '/v4/twin/ada.test/binder', { token: payer, accept: 'text/csv' }),
      'second binder': () => ask('GET', '/v4/twin/ada.test/binder', { token: payer, accept: 'text/csv' }),
      inventory: () => ask('GET', '/v4/twin/ada.test/inventory', { token: payer, accept: 'text/csv' }),
    }
    for (const [name, work] of Object.entries(works)) {
      const { longest, took } = await waitDuring(work, pay)
      const detail = `at ${payments} payments; the ${name} itself took ${Math.round(took)} ms`
      figures.push({
        name: `longest wait of a payment in ms during the ${name}`,
        ratio: longest,
        target: '<= 20',
        detail,
      })
    }
    await service.close()
  }
  return figures
}

export async function searchFigures() {
  const { service, ask } = await bigService({ payments: 0, items: 30_000 })
  const figures = []
  for (const [name, query] of [
    ['a common word', 'weather'],
    ['two words', 'chess poems'],
    ['a rare word', '29876'],
    ['no word', ''],
    ['a word that no item has', 'zzz'],
  ]) {
    const path = `/v4/catalog/items?query=${encodeURIComponent(query)}`
    await ask('GET', path)
    const began = performance.now()
    for (let n = 0; n < 20; n++) await ask('GET', path)
    const ms = (performance.now() - began) / 20
    figures.push({
      name: `ms to search 30,000 items for ${name}`,
      ratio: ms,
      target: '<= 5',
      detail: 'in process, mean of 20',
    })
  }
  await service.close()
  return figures
}
