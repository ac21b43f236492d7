import { wrapAxiosWithPaymentFromConfig } from '@x402/axios'
import { ExactEvmScheme } from '@x402/evm'
import { wrapFetchWithPaymentFromConfig } from '@x402/fetch'
import axios from 'axios'
import type { PrivateKeyAccount } from 'viem/accounts'

/** Buyers of others, unmodified. */

export interface Bought {
  readonly status: number
  readonly body: unknown
  /** Of the shop, decoded. Undefined if it sent none. */
  readonly receipt: Readonly<Record<string, unknown>> | undefined
}

/** `body`: posted as JSON. */
export type Buy = (url: string, body?: object) => Promise<Bought>

export const requestWith = (body?: object) =>
  body && { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }

const schemes = (account: PrivateKeyAccount) =>
  [{ network: 'eip155:84532', client: new ExactEvmScheme(account) }] as never

export function buyerByFetch(account: PrivateKeyAccount, options: object = {}): Buy {
  const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes: schemes(account), ...options })
  return async (url, body) => {
    const response = await pay(url, requestWith(body))
    const text = await response.text()
    return { status: response.status, body: parsed(text), receipt: receiptIn(response.headers.get('payment-response')) }
  }
}

export function buyerByAxios(account: PrivateKeyAccount): Buy {
  const api = wrapAxiosWithPaymentFromConfig(axios.create(), { schemes: schemes(account) })
  return async (url, body) => {
    const answered = body ? api.post(url, body) : api.get(url)
    const { status, data, headers } = await answered.catch((error) => {
      if (error.response === undefined) throw error
      return error.response
    })
    return { status, body: data, receipt: receiptIn(headers['payment-response'] ?? null) }
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const receiptIn = (header: string | null): Bought['receipt'] =>
  header === null ? undefined : JSON.parse(Buffer.from(header, 'base64').toString())
