// What the drills of backups do with a sandbox.

/** Calls a sandbox. Throws if it refuses. Returns the JSON of the answer. */
export async function call(url, method, path, { token, basic, body } = {}) {
  const headers = { ...(body && { 'content-type': 'application/json' }) }
  if (token) headers.authorization = `Bearer ${token}`
  if (basic) headers.authorization = `Basic ${btoa(basic.join(':'))}`
  const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
  return text ? JSON.parse(text) : undefined
}

/** Creates a seller, something for sale, and a payer with value. */
export async function openShop(url) {
  const { secrets } = await call(url, 'POST', '/v4/account')
  const { client_id, client_secret } = secrets[1]
  const seller = (await call(url, 'POST', '/v4/account/oauth/token', { basic: [client_id, client_secret] }))
    .access_token
  const [dq] = (await call(url, 'GET', '/v4/dq')).digital_quantities
  const twin = await call(url, 'POST', '/v4/twin', { token: seller, body: { dq } })
  const item = { descriptor: 'NEWS.ARTICLE', dq, cost: 0.01, twin_id: twin.id }
  const { hash } = await call(url, 'POST', '/v4/commodity', { token: seller, body: item })
  const email = 'drill@example.test'
  const [keys] = (await call(url, 'POST', '/v4/user', { token: seller, body: { email } })).secrets
  const asked = { basic: [keys.client_id, keys.client_secret] }
  const token = (await call(url, 'POST', '/v4/user/oauth/token', asked)).access_token
  const { hostname } = (await call(url, 'GET', '/v4/twins', { token })).twins[0]
  await call(url, 'POST', '/_sandbox/fund', { body: { hostname, amount: 100 } })
  return {
    /** Pays, at this sandbox or at another one over the same state. */
    pay: (at = url) => call(at, 'POST', `/v4/payment/${hash}`, { token, body: {} }),
    /** Spends the nonce that proves a payment. */
    validate: (at, { nonce, timestamp }) =>
      call(at, 'POST', `/v4/payment/${hash}/validate`, { token: seller, body: { nonce, timestamp } }),
  }
}
