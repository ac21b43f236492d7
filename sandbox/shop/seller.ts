import { withoutUndefined } from '../../src/base/json.js'
import * as z from '../../src/http/fields/zod.js'
import type { Service } from '../../src/index.js'
import type { Demo } from '../seed/demo.js'

/** Calls of the service as the demo's account, over HTTP like any seller's server. */

export type Seller = { readonly service: Pick<Service, 'baseUrl' | 'fetch'>; readonly demo: Demo }

const AnyBody = z.record(z.string(), z.unknown())

export type Body = z.output<typeof AnyBody>

export type Answer = { readonly status: number; readonly body: Body }

/** Spends the nonce of a payment for a commodity. The answer has the payment, or the error of the service. */
export async function validatePayment(seller: Seller, hash: string, proof: Body): Promise<Answer> {
  const authorization = await bearerHeader(seller, 'account', seller.demo.account)
  return callService(seller, 'POST', `/v4/payment/${hash}/validate`, { authorization }, proof)
}

export type ClientCredentials = { readonly client_id: string; readonly client_secret: string }

/** Gets an access token as an `Authorization` header, or undefined if the service does not know the credentials. */
export async function bearerHeader(
  seller: Seller,
  kind: 'account' | 'user',
  { client_id, client_secret }: ClientCredentials,
): Promise<string | undefined> {
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
  const { status, body } = await callService(seller, 'POST', `/v4/${kind}/oauth/token`, { authorization })
  return status === 200 ? `Bearer ${body.access_token}` : undefined
}

export async function callService(
  { service }: Seller,
  method: string,
  path: string,
  headers: Record<string, string | undefined> = {},
  body?: Body,
): Promise<Answer> {
  const sent = { ...headers, ...(body && { 'content-type': 'application/json' }) }
  const request = new Request(service.baseUrl + path, {
    method,
    headers: withoutUndefined(sent),
    ...(body && { body: JSON.stringify(body) }),
  })
  const answer = await service.fetch(request)
  return { status: answer.status, body: AnyBody.parse(await answer.json()) }
}
