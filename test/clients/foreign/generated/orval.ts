import * as farthing from './client/farthing.js'

const as = (authorization: string) => ({ headers: { authorization } })
const basic = (id: string, secret: string | null) => as(`Basic ${btoa(`${id}:${secret}`)}`)

/** The error of an answer that is none of a success. */
const refused = ({ status, data }: { status: number; data: unknown }) => new Error(`${status} ${JSON.stringify(data)}`)

const account = await farthing.createAccount()
if (account.status !== 201) throw refused(account)
const { client_id, client_secret } = account.data.secrets[1]
const tokens = await farthing.createAccountToken(undefined, basic(client_id, client_secret))
if (tokens.status !== 200) throw refused(tokens)
const seller = as(`Bearer ${tokens.data.access_token}`)

const quantities = await farthing.listDigitalQuantities()
if (quantities.status !== 200) throw refused(quantities)
const [dq = ''] = quantities.data.digital_quantities
const twin = await farthing.createTwin({ dq }, seller)
if (twin.status !== 201) throw refused(twin)
const article = { descriptor: 'NEWS.ARTICLE', dq, cost: 0.25, twin_id: twin.data.id }
const commodity = await farthing.createCommodity(article, seller)
if (commodity.status !== 201) throw refused(commodity)
const { hash } = commodity.data

const user = await farthing.createUser({ email: 'cleo@example.test' }, seller)
if (user.status !== 201) throw refused(user)
const [secret] = user.data.secrets
if (!secret) throw new Error('The user has no credentials.')
const payerTokens = await farthing.createUserToken(undefined, basic(secret.client_id, secret.client_secret))
if (payerTokens.status !== 200) throw refused(payerTokens)
const payer = as(`Bearer ${payerTokens.data.access_token}`)
const wallets = await farthing.listTwins(undefined, payer)
if (wallets.status !== 200) throw refused(wallets)
const funded = await farthing.fundTwin({ hostname: wallets.data.twins[0]?.hostname ?? '', amount: 5 })
if (funded.status !== 200) throw refused(funded)

const payment = await farthing.createPayment(hash, undefined, {
  headers: { ...payer.headers, 'Idempotency-Key': crypto.randomUUID() },
})
if (payment.status !== 202) throw refused(payment)
const { nonce, timestamp, amount } = payment.data
const validated = await farthing.validatePayment(hash, { nonce, timestamp }, seller)
if (validated.status !== 200) throw refused(validated)
const again = await farthing.validatePayment(hash, { nonce, timestamp }, seller)
if (again.status === 200) throw new Error('The nonce was spent twice.')
// @ts-expect-error: the operation has no such code.
if (again.data.code === 'no_such_code') throw new Error()
console.log(JSON.stringify({ amount, valid: validated.data.valid, again: again.data.code }))
