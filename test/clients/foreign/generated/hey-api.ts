import { client } from '../../../../adapters/client.js'
import type { Auth } from '../../../../src/http/route.js'
import * as farthing from './client/index.js'

client.setConfig({ baseUrl: process.argv[2] ?? '' })

/** The client asks for each scheme that an operation takes. */
const as = (scheme: Auth['scheme'], secret: string) => (asked: Auth) => (asked.scheme === scheme ? secret : undefined)

const throwOnError = true
const { data: account } = await farthing.createAccount({ throwOnError })
const { client_id, client_secret } = account.secrets[1]
const basic = as('basic', `${client_id}:${client_secret}`)
const { data: tokens } = await farthing.createAccountToken({ throwOnError, auth: basic })
const auth = as('bearer', tokens.access_token)

const { data: quantities } = await farthing.listDigitalQuantities({ throwOnError })
const [dq = ''] = quantities.digital_quantities
const { data: twin } = await farthing.createTwin({ throwOnError, auth, body: { dq } })
const article = { descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, twin_id: twin.id }
const { data: commodity } = await farthing.createCommodity({ throwOnError, auth, body: article })

const { data: user } = await farthing.createUser({ throwOnError, auth, body: { email: 'bob@example.test' } })
const [secret] = user.secrets
const payerBasic = as('basic', `${secret?.client_id}:${secret?.client_secret}`)
const { data: payerTokens } = await farthing.createUserToken({ throwOnError, auth: payerBasic })
const payer = as('bearer', payerTokens.access_token)
const { data: wallets } = await farthing.listTwins({ throwOnError, auth: payer })
const hostname = wallets.twins[0]?.hostname ?? ''
await farthing.fundTwin({ throwOnError, body: { hostname, amount: 5 } })

const path = { hash: commodity.hash }
const headers = { 'Idempotency-Key': crypto.randomUUID() }
const { data: payment } = await farthing.createPayment({ throwOnError, auth: payer, path, headers })
const body = { nonce: payment.nonce, timestamp: payment.timestamp }
const { data: validated } = await farthing.validatePayment({ throwOnError, auth, path, body })
const { error } = await farthing.validatePayment({ throwOnError: false, auth, path, body })
// @ts-expect-error: the operation has no such code.
if (error?.code === 'no_such_code') throw new Error()
console.log(JSON.stringify({ amount: payment.amount, valid: validated.valid, again: error?.code }))
