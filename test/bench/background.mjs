// How fast mails and timers leave, and how long a sign-in code and a payment wait beside them, in memory and on a file.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createService } from 'farthing'
import { fileStorage } from 'farthing/storage/file'
import { memoryStorage } from 'farthing/storage/memory'
import { median } from './figures.mjs'

const DAY = 86_400_000
const outbox = { name: 'outbox', indexes: { byDue: { fields: ['due_at'] } } }
const timers = { name: 'timers', indexes: { byDue: { fields: ['due_at'] } } }

/** Mails that wait, as an earlier process left them. */
const waiting = (count) =>
  Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    kind: 'mail',
    to: `reader-${n}@example.test`,
    subject: 'An invitation',
    text: 'Someone sends you 2.50 USD.',
    created_at: 1,
    status: 'pending',
    attempts: 0,
    due_at: 1,
    stale_at: null,
  }))

const isEmpty = (storage, of) =>
  storage.read(async (tx) => (await tx.find(of, { index: 'byDue', prefix: [], limit: 1 })).length === 0)

async function post(service, path, { headers, body } = {}) {
  const request = new Request(`${service.baseUrl}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body ?? {}),
  })
  const answer = await service.fetch(request)
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** Milliseconds until 2,000 mails have left and are recorded. */
async function mails(storage) {
  await storage.import({ counters: { outbox: 2000 }, rows: { outbox: waiting(2000) } })
  const service = createService({ storage, mailer: { send: () => sleep(5) } })
  await service.ready()
  const began = performance.now()
  while (!(await isEmpty(storage, outbox))) await sleep(2)
  const took = performance.now() - began
  await service.close()
  return took
}

/** Milliseconds from asking for a sign-in code until it leaves, behind 50,000 other mails. */
async function code(storage) {
  await storage.import({ counters: { outbox: 50_000 }, rows: { outbox: waiting(50_000) } })
  let left = () => {}
  const leaving = new Promise((resolve) => (left = resolve))
  const mailer = { send: ({ to }) => (to === 'ada@example.test' ? left() : sleep(5)) }
  const service = createService({ storage, mailer })
  await service.ready()
  const began = performance.now()
  await post(service, '/v4/session/code', { body: { email: 'ada@example.test' } })
  await leaving
  const took = performance.now() - began
  await service.close()
  return took
}

/** Milliseconds in which 10,000 invitations expire, and the longest that a payment takes meanwhile. */
async function expiries(storage) {
  let ahead = 0
  const clock = { now: () => Date.now() + ahead }
  const service = createService({ storage, clock, sandbox: true, log: { error() {} } })
  const { users, commodities } = await service.sandbox.seed({
    accounts: [{ name: 'Shop' }],
    users: [{ email: 'payer@example.test', balance: 1_000_000 }],
    commodities: [{ account: 'Shop', descriptor: 'BENCH', cost: 0.001 }],
  })
  const token = async () => {
    const authorization = `Basic ${btoa(`${users[0].client_id}:${users[0].client_secret}`)}`
    return (await post(service, '/v4/user/oauth/token', { headers: { authorization } })).access_token
  }
  let authorization = `Bearer ${await token()}`
  const invite = (n) =>
    post(service, '/v4/transfer', {
      headers: { authorization },
      body: { address: `guest-${n}@example.test`, amount: 1 },
    })
  for (let n = 0; n < 10_000; n += 100) await Promise.all(Array.from({ length: 100 }, (_, each) => invite(n + each)))
  while (!(await isEmpty(storage, outbox))) await sleep(10)
  ahead = 30 * DAY
  authorization = `Bearer ${await token()}`
  const pay = () => post(service, `/v4/payment/${commodities[0].hash}`, { headers: { authorization } })
  for (let n = 0; n < 50; n++) await pay()
  let slowest = 0
  let isOver = false
  const paying = (async () => {
    while (!isOver) {
      const began = performance.now()
      await pay()
      slowest = Math.max(slowest, performance.now() - began)
      await sleep(1)
    }
  })()
  const began = performance.now()
  // A new timer makes the service look at the clock.
  await invite('last')
  while (!(await onlyLater(storage, clock.now()))) await sleep(5)
  const took = performance.now() - began
  isOver = true
  await paying
  await service.close()
  return { took, slowest }
}

const onlyLater = (storage, now) =>
  storage.read(async (tx) => {
    const [first] = await tx.find(timers, { index: 'byDue', prefix: [], limit: 1 })
    return first === undefined || first.due_at > now
  })

export async function backgroundFigures({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  let files = 0
  const storages = {
    memory: async () => memoryStorage(),
    file: () => fileStorage({ file: join(folder, `${files++}.json`) }),
  }
  const figures = []
  const add = (name, ms, target) =>
    figures.push({ name, ratio: median(ms) / 1000, target, detail: `${ms.map(Math.round).join(', ')} ms` })
  try {
    for (const [name, open] of Object.entries(storages)) {
      const times = { mails: [], code: [], expiries: [], payment: [] }
      for (let round = 0; round < rounds; round++) {
        times.mails.push(await mails(await open()))
        times.code.push(await code(await open()))
        const { took, slowest } = await expiries(await open())
        times.expiries.push(took)
        times.payment.push(slowest)
      }
      add(`seconds for 2,000 mails of 5 ms, ${name}`, times.mails, '<= 1')
      add(`seconds for a sign-in code behind 50,000 mails, ${name}`, times.code, '<= 0.2')
      add(`seconds for 10,000 invitations to expire, ${name}`, times.expiries, '<= 2')
      add(`seconds for the slowest payment meanwhile, ${name}`, times.payment, '<= 0.05')
    }
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
