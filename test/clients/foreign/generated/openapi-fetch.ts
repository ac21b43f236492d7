import createClient from 'openapi-fetch'
import type { paths } from './farthing.js'

const { POST, GET } = createClient<paths>({ baseUrl: process.argv[2] ?? '' })

/** The data of an answer, or an error with what the service says. */
function dataOf<T>({ data, error }: { data?: T; error?: { error: string } }): T {
  if (data === undefined) throw new Error(error?.error)
  return data
}
const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` })
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

const account = dataOf(await POST('/v4/account'))
const credentials = account.secrets.find((secret) => 'client_id' in secret)
if (!credentials) throw new Error('The account has no credentials.')
const headers = basic(credentials.client_id, credentials.client_secret ?? '')
const seller = { headers: bearer(dataOf(await POST('/v4/account/oauth/token', { headers })).access_token) }

const [dq = ''] = dataOf(await GET('/v4/dq')).digital_quantities
const twin = dataOf(await POST('/v4/twin', { ...seller, body: { dq } }))
const article = { descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, twin_id: twin.id }
const { hash } = dataOf(await POST('/v4/commodity', { ...seller, body: article }))

const user = dataOf(await POST('/v4/user', { ...seller, body: { email: 'ada@example.test' } }))
const [secret] = user.secrets
if (!secret) throw new Error('The user has no credentials.')
const token = dataOf(
  await POST('/v4/user/oauth/token', { headers: basic(secret.client_id, secret.client_secret) }),
).access_token
const [wallet] = dataOf(await GET('/v4/twins', { headers: bearer(token) })).twins
dataOf(await POST('/_sandbox/fund', { body: { hostname: wallet?.hostname ?? '', amount: 5 } }))

const path = { hash }
const header = { 'Idempotency-Key': crypto.randomUUID() }
const { nonce, timestamp, amount } = dataOf(
  await POST('/v4/payment/{hash}', { params: { path, header }, headers: bearer(token) }),
)
const proof = { ...seller, params: { path }, body: { nonce, timestamp } }
const { valid } = dataOf(await POST('/v4/payment/{hash}/validate', proof))
const { error } = await POST('/v4/payment/{hash}/validate', proof)
// @ts-expect-error: the operation has no such code.
if (error?.code === 'no_such_code') throw new Error()
console.log(JSON.stringify({ amount, valid, again: error?.code }))
