import * as z from '../../src/http/fields/zod.js'
import type { Service } from '../../src/index.js'
import type { Demo } from '../seed/demo.js'

/** What the service says to the demo's account, asked as any seller's server would. */

export interface Seller {
  readonly service: Pick<Service, 'baseUrl' | 'fetch'>
  readonly demo: Demo
}

const AnyBody = z.record(z.string(), z.unknown())
export type Body = z.output<typeof AnyBody>

export interface Answer {
  readonly status: number
  readonly body: Body
}

/** Spends the nonce of a payment for a commodity. */
export async function validate(seller: Seller, hash: string, proof: Body): Promise<Answer> {
  const authorization = await bearer(seller, 'account', seller.demo.account)
  return call(seller, 'POST', `/v4/payment/${hash}/validate`, { authorization }, proof)
}

export interface ClientCredentials {
  readonly client_id: string
  readonly client_secret: string
}

/** The Authorization header of an access token; undefined where the credentials are not known to the service. */
export async function bearer(
  seller: Seller,
  kind: 'account' | 'user',
  { client_id, client_secret }: ClientCredentials,
): Promise<string | undefined> {
  const authorization = `Basic ${btoa(`${client_id}:${client_secret}`)}`
  const { status, body } = await call(seller, 'POST', `/v4/${kind}/oauth/token`, { authorization })
  return status === 200 ? `Bearer ${body.access_token}` : undefined
}

export async function call(
  seller: Seller,
  method: string,
  path: string,
  headers?: Record<string, string | undefined>,
  body?: Body,
): Promise<Answer> {
  const answer = await ask(seller, method, path, headers, body)
  return { status: answer.status, body: AnyBody.parse(await answer.json()) }
}

export function ask(
  { service }: Seller,
  method: string,
  path: string,
  headers: Record<string, string | undefined> = {},
  body?: Body,
): Promise<Response> {
  const sent = Object.entries(headers).filter((each): each is [string, string] => each[1] !== undefined)
  const json: [string, string][] = body ? [['content-type', 'application/json']] : []
  const request = new Request(service.baseUrl + path, {
    method,
    headers: [...sent, ...json],
    ...(body && { body: JSON.stringify(body) }),
  })
  return service.fetch(request)
}
