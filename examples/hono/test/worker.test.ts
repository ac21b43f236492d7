import { createService } from 'farthing'
import { client } from 'farthing/client'
import { handlers } from 'farthing/msw'
import { setupServer } from 'msw/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { articles } from '../src/articles.js'
import worker, { type Variables } from '../src/worker.js'

const [[slug, article]] = articles
const service = createService({ sandbox: true })
const { accounts, users, commodities } = await service.sandbox.seed({
  accounts: [{ name: 'The Daily Farthing' }],
  users: [{ email: 'reader@example.test', balance: 1 }],
  commodities: [
    { account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.25, hash: article.hash },
    { account: 'The Daily Farthing', descriptor: 'NEWS.ARTICLE', cost: 0.05 },
  ],
})
const [account] = accounts
const [, other] = commodities
const reader = client(service).as(users[0])

const variables: Variables = {
  FARTHING_URL: service.baseUrl,
  FARTHING_CLIENT_ID: account.client_id,
  FARTHING_CLIENT_SECRET: account.client_secret,
  FARTHING_PUBLIC_SECRET: account.public_secret,
}

// The worker calls the service by its URL. MSW answers in its place.
const network = setupServer(...handlers(service))
// MSW 3 has the first name, MSW 2 the second.
const strict = { onUnhandledFrame: 'error', onUnhandledRequest: 'error' } as const
beforeAll(() => network.listen(strict))
afterAll(() => network.close())
afterAll(() => service.close())

async function unlock(proof: object) {
  const answer = await worker.request(`/articles/${slug}`, { method: 'POST', body: JSON.stringify(proof) }, variables)
  return { status: answer.status, ...(await answer.json()) }
}

test('the page shows how the article begins, and not the story', async () => {
  const page = await (await worker.request(`/articles/${slug}`, {}, variables)).text()
  expect(page).toContain(article.beginning)
  expect(page).not.toContain(article.story)
  expect((await worker.request('/articles/no-such-article', {}, variables)).status).toBe(404)
})

test('a payment unlocks the story once', async () => {
  const { nonce, timestamp } = await reader.payments.create(article.hash, { cost: 0.25 })
  expect(await unlock({ nonce, timestamp })).toEqual({ status: 200, story: article.story })
  expect(await unlock({ nonce, timestamp })).toMatchObject({ status: 402, code: 'nonce_used' })
})

test('nothing else unlocks it', async () => {
  const { nonce, timestamp } = await reader.payments.create(other.hash, { cost: 0.05 })
  expect(await unlock({ nonce, timestamp })).toMatchObject({ status: 402, code: 'nonce_unknown' })
  expect(await unlock({ nonce: 'made-up', timestamp })).toMatchObject({ status: 402, code: 'nonce_unknown' })
  expect(await unlock({})).toMatchObject({ status: 402, code: 'field_invalid' })
})
