import { afterEach, describe, expect, test } from 'vitest'
import { createService, type Service } from '../../src/index.js'
import { type Call, caller } from '../support/api.js'
import { fund } from '../support/scenes/market.js'
import { newAgent, newApp } from '../support/scenes/oidc.js'
import { offerIn, payHeader } from '../support/scenes/paid-calls.js'
import { type Delegate, newDelegate, newPersona } from '../support/scenes/personas.js'
import { sales } from '../support/scenes/sales.js'
import { useUpstream } from '../support/scenes/upstream.js'
import { newPayer, newSeller, type Payer } from '../support/scenes/world.js'
import { fundAddress, newAccount, paymentOf, settle, USDC_DQ } from '../support/scenes/x402.js'

/** Wallets whose right to pay has ended. A signature needs no token, so it must look by itself. */

const upstream = useUpstream()
let service: Service
afterEach(() => service.close())

interface Held {
  readonly call: Call
  readonly owner: Payer
  readonly delegate: Delegate
}

interface Holding extends Held {
  end(): Promise<unknown>
}

/** Who holds the delegate of a persona, and how their right ends. */
const holders: Readonly<Record<string, (call: Call) => Promise<Holding>>> = {
  'an app that its user disconnects': async (call) => {
    const app = await newApp(call)
    const owner = await newPayer(call, await newSeller(call))
    await newAgent(call, { app, email: owner.email })
    const held = await delegateFor(call, owner, { client_id: app.id })
    return {
      ...held,
      async end() {
        const { connections } = (await call('GET', '/v4/connections', { token: owner.token })).body
        return call('DELETE', `/v4/connections/${connections[0].id}`, { token: owner.token })
      },
    }
  },
  'an account whose delegate is revoked': async (call) => {
    const seller = await newSeller(call)
    const owner = await newPayer(call, seller)
    const held = await delegateFor(call, owner, { client_id: seller.clientId })
    const { persona, hash } = held.delegate
    return { ...held, end: () => call('DELETE', `/v4/persona/${persona}/delegates/${hash}`, { token: owner.token }) }
  },
}

async function delegateFor(call: Call, owner: Payer, party: object): Promise<Held> {
  await fundAddress(call, newAccount().address, 1)
  const persona = await newPersona(call, owner)
  const spend = { party, dq: USDC_DQ, limit: 0.5 }
  const delegate = await newDelegate(call, owner, { persona: persona.hash, hostname: owner.hostname, spend })
  await fund(call, persona.hostname, 1, USDC_DQ)
  return { call, owner, delegate }
}

describe.each(Object.entries(holders))('the wallet of %s', (_, hold) => {
  test('pays before, and nothing afterwards', async () => {
    service = createService({ sandbox: true })
    const call = caller({ url: service.baseUrl, fetch: service.fetch })
    const { delegate, end } = await hold(call)
    const account = newAccount()
    const link = { delegate: delegate.hash, address: account.address }
    expect((await call('POST', '/_sandbox/wallets', { body: link })).status).toBe(201)
    const onSale = await Promise.all(Object.values(sales).map((open) => open(call, `${upstream.url}/ok`)))
    const buy = async () => {
      const statuses = []
      for (const sale of onSale) {
        const { status } = await sale.ask(await payHeader(account, offerIn(await sale.ask())))
        statuses.push(status)
      }
      return [...statuses, (await settle(call, await paymentOf(account))).body.success]
    }
    expect(await buy()).toEqual([200, 200, true])
    expect((await end()) as object).toMatchObject({ status: expect.toBeOneOf([200, 204]) })
    expect(await buy()).toEqual([402, 402, false])
    expect(upstream.requests).toHaveLength(2)
  })
})
