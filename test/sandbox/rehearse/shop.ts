import { createService, type Service } from 'farthing'
import { client } from 'farthing/client'
import type { RunTools } from '../../../src/sandbox/rehearse/rehearse.js'

/** A reader who pays for an article, as an application that calls the service itself. */

export const EMAIL = 'reader@example.test'
export const SLOW_MS = 20
/** Of a client that does not wait for ever. A busy machine answers within it. */
export const LIMIT_MS = 500

export async function newsService() {
  const service = createService({ sandbox: true })
  const seeded = await service.sandbox.seed({
    accounts: [{ name: 'News' }],
    users: [{ email: EMAIL, balance: 5 }],
    commodities: [
      { account: 'News', descriptor: 'NEWS.ARTICLE', cost: 0.25 },
      { account: 'News', descriptor: 'NEWS.PHOTO', cost: 0.5 },
    ],
  })
  const [article, photo] = seeded.commodities.map(({ hash }) => hash) as [string, string]
  const [user] = seeded.users as [(typeof seeded.users)[0]]
  const [account] = seeded.accounts as [(typeof seeded.accounts)[0]]
  return { service, article, photo, user, account }
}

export type News = Awaited<ReturnType<typeof newsService>>
export type Application = (news: News) => (fork: Service, tools: RunTools) => Promise<unknown>

interface Payment {
  readonly cost?: number | undefined
  readonly key?: string | undefined
  readonly signal?: AbortSignal
}

/** A client that adds nothing of its own. */
export async function plainClient(fork: Service) {
  const { headers } = await fork.sandbox.signIn(EMAIL)
  return {
    headers,
    async price(hash: string): Promise<number> {
      const read = () => fork.fetch(`/v4/commodity/${hash}`)
      return (await (await retried(read)).json()).cost
    },
    pay(hash: string, { cost, key, signal }: Payment = {}): Promise<Response> {
      return fork.fetch(`/v4/payment/${hash}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
        body: JSON.stringify(cost === undefined ? {} : { cost }),
        ...(signal && { signal }),
      })
    },
  }
}

/** Tries until an answer is final. A 401 passes, because the token is renewed, and so does a call that is in progress. */
export async function retried(send: () => Promise<Response>, times = 4): Promise<Response> {
  for (let left = times; ; left--) {
    const answer = await send().catch((error: unknown) => {
      if (left === 1) throw error
      return undefined
    })
    if (answer && answer.status !== 503 && answer.status !== 401 && !(await isInProgress(answer))) return answer
    if (left === 1) throw new Error(`It failed ${times} times.`)
  }
}

const isBusy = ({ status, headers }: Response): boolean => status === 503 && headers.has('retry-after')

const isInProgress = async (answer: Response): Promise<boolean> =>
  answer.status === 409 && (await answer.clone().json()).code === 'idempotency_in_progress'

export async function paid(answer: Response): Promise<string> {
  if (answer.status !== 202) throw new Error(`refused: ${answer.status}`)
  return 'article'
}

let keys = 0
export const newKey = (): string => `order-${++keys}`

/** Applications with one bug each. */
export const buggy: Readonly<Record<string, Application>> = {
  'retries without a key':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      return paid(await retried(() => shop.pay(article, { cost })))
    },
  'a new key per retry':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      return paid(await retried(() => shop.pay(article, { cost, key: newKey() })))
    },
  'keeps a key after a 4xx':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const key = newKey()
      const buy = async () => {
        const cost = await shop.price(article)
        return retried(() => shop.pay(article, { cost, key }))
      }
      const first = await buy()
      return paid(first.status === 409 ? await buy() : first)
    },
  'gives up on 503 with `Retry-After`':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      const key = newKey()
      const pay = async () => {
        const answer = await shop.pay(article, { cost, key })
        return isBusy(answer) ? new Response(null, { status: 400 }) : answer
      }
      return paid(await retried(pay))
    },
  'pays before it reads the price':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const key = newKey()
      const receipt = await paid(await retried(() => shop.pay(article, { key })))
      await shop.price(article)
      return receipt
    },
  'ignores a changed price':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      const key = newKey()
      const first = await retried(() => shop.pay(article, { cost, key }))
      const again = newKey()
      return paid(first.status === 409 ? await retried(() => shop.pay(article, { key: again })) : first)
    },
  'writes a secret to its log':
    ({ article }) =>
    async (fork, { log }) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      const key = newKey()
      log(`paying with ${JSON.stringify(shop.headers)}`)
      return paid(await retried(() => shop.pay(article, { cost, key })))
    },
}

const careful = async (fork: Service, hash: string, key = newKey()) => {
  const shop = await plainClient(fork)
  const cost = await shop.price(hash)
  return paid(await retried(() => shop.pay(hash, { cost, key })))
}

/** Applications without a bug. */
export const correct: Readonly<Record<string, Application>> = {
  'our typed client':
    ({ article, user }) =>
    async (fork) => {
      const reader = client(fork).as(user)
      const { cost } = await reader.commodities.read(article)
      await reader.payments.create(article, { cost })
      return 'article'
    },
  'our typed client, which validates what it sold':
    ({ article, user, account }) =>
    async (fork) => {
      const reader = client(fork).as(user)
      const { cost } = await reader.commodities.read(article)
      const { nonce, timestamp } = await reader.payments.create(article, { cost })
      await client(fork).as(account).payments.validate(article, { nonce, timestamp })
      return 'article'
    },
  'one key for all tries':
    ({ article }) =>
    (fork) =>
      careful(fork, article),
  'a key that it remembers':
    ({ article }) =>
    (fork) =>
      careful(fork, article, 'order-of-today'),
  'two things, one after the other':
    ({ article, photo }) =>
    async (fork) => [await careful(fork, article), await careful(fork, photo)],
  'the same thing twice, on purpose':
    ({ article }) =>
    async (fork) => [await careful(fork, article), await careful(fork, article)],
  'reads a changed price again, and takes a new key':
    ({ article }) =>
    async (fork) => {
      const first = await careful(fork, article).catch(() => undefined)
      return first ?? careful(fork, article)
    },
  'looks at a limit of time, and tries again':
    ({ article }) =>
    async (fork) => {
      const shop = await plainClient(fork)
      const cost = await shop.price(article)
      const key = newKey()
      const pay = () => shop.pay(article, { cost, key, signal: AbortSignal.timeout(LIMIT_MS) })
      return paid(await retried(pay, 10))
    },
  'declines a changed price, and says so':
    ({ article }) =>
    async (fork) =>
      careful(fork, article).catch((error: unknown) => {
        if (String(error).includes('409')) return 'not at this price'
        throw error
      }),
  'says what it delivered':
    ({ article, account, user }) =>
    async (fork) => {
      const reader = client(fork).as(user)
      const { cost } = await reader.commodities.read(article)
      await reader.payments.create(article, { cost })
      await client(fork)
        .as(account)
        .events.create({ type: 'client.delivered', data: { item: article } })
      return 'article'
    },
}
