import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { client } from 'farthing/client'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { articles } from '../lib/articles'

// `farthing exec` started this sandbox, and told the site about it.
const { FARTHING_URL = '', FARTHING_USER_CLIENT_ID = '', FARTHING_USER_CLIENT_SECRET = '' } = process.env
const [[slug, article]] = articles
const reader = client(FARTHING_URL).as({
  client_id: FARTHING_USER_CLIENT_ID,
  client_secret: FARTHING_USER_CLIENT_SECRET,
})

let site: ChildProcess
let url = ''

beforeAll(async () => {
  site = spawn(process.execPath, ['node_modules/next/dist/bin/next', 'start', '--port', '0', '--hostname', '127.0.0.1'])
  for await (const line of createInterface({ input: site.stdout ?? process.stdin })) {
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? ''
    if (url) break
  }
}, 60_000)
afterAll(() => site.kill())

async function unlock(proof: object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/api/articles/${slug}`, { method: 'POST', headers, body: JSON.stringify(proof) })
  return { status: answer.status, ...(await answer.json()) }
}

test('the page shows how the article begins, and not the story', async () => {
  const page = await (await fetch(`${url}/articles/${slug}`)).text()
  expect(page).toContain(article.beginning)
  expect(page).not.toContain(article.story)
  expect((await fetch(`${url}/articles/no-such-article`)).status).toBe(404)
})

test('a payment unlocks the story once', async () => {
  const { nonce, timestamp } = await reader.payments.create(article.hash, { cost: 0.25 })
  expect(await unlock({ nonce, timestamp })).toEqual({ status: 200, story: article.story })
  expect(await unlock({ nonce, timestamp })).toMatchObject({ status: 402, code: 'nonce_used' })
})

test('nothing else unlocks it', async () => {
  expect(await unlock({ nonce: 'made-up', timestamp: 1 })).toMatchObject({ status: 402, code: 'nonce_unknown' })
  expect(await unlock({})).toMatchObject({ status: 402, code: 'field_invalid' })
})
