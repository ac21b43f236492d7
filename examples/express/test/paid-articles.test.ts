import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createService } from 'farthing'
import { client } from 'farthing/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { articles } from '../src/articles.js'
import { paidArticles } from '../src/paid-articles.js'

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

let server: Server
beforeAll(() => {
  const seller = client(service).as(account)
  const shop = { serviceUrl: service.baseUrl, publicSecret: account.public_secret }
  server = express()
    .use('/articles', paidArticles(seller, shop, articles))
    .listen(0)
})
afterAll(() => service.close())
afterAll(() => server.close())

const address = (name: string) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/articles/${name}`

async function unlock(proof: object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(address(slug), { method: 'POST', headers, body: JSON.stringify(proof) })
  return { status: answer.status, ...(await answer.json()) }
}

test('the page shows how the article begins, and not the story', async () => {
  const page = await (await fetch(address(slug))).text()
  expect(page).toContain(article.beginning)
  expect(page).not.toContain(article.story)
  expect((await fetch(address('no-such-article'))).status).toBe(404)
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
