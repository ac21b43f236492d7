/** The calls of the page. The service's session cookie signs the reader in, so no script holds a credential. */

export interface Price {
  readonly cost: number
  readonly dq: string
}

export interface Proof {
  readonly nonce: string
  readonly timestamp: number
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const answer = await fetch(path, {
    method,
    ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  const read = await answer.json()
  // A refusal is a sentence for people, and a code for programs.
  if (!answer.ok) throw new Error(read.error)
  return read
}

export const readPrice = (hash: string) => ask<Price>('GET', `/pay/v4/commodity/${hash}`)
export const readSession = () => ask<{ user: object | null }>('GET', '/pay/v4/session')
export const sendCode = (email: string) => ask('POST', '/pay/v4/session/code', { email })
export const verifyCode = (email: string, code: string) => ask('POST', '/pay/v4/session/verify', { email, code })
/** Pays the price that the reader saw, and never another one. */
export const pay = (hash: string, { cost, dq }: Price) => ask<Proof>('POST', `/pay/v4/payment/${hash}`, { cost, dq })
export const unlock = (hash: string, { nonce, timestamp }: Proof) =>
  ask<{ story: string }>('POST', '/api/unlock', { hash, nonce, timestamp })
