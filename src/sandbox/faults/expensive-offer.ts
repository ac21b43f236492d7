import { decodeHeader, encodeHeader } from '../../agents/x402/payload.js'
import { Problem, problem } from '../../base/problem.js'
import { isObject } from '../../storage/unknown.js'

/** How many times the price the offer behind the first one asks for. */
const TIMES = 50n

/** What a wallet of the chains here cannot pay, so that its client takes the next offer. */
const elsewhere = {
  asset: '4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU',
  payTo: '2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4',
  extra: { feePayer: 'EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd' },
}
const networks = { 1: 'solana-devnet', 2: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1' } as const

/** A 402 that offers the call at its price elsewhere, and then here for much more. Undefined for all else. */
export function withExpensiveOffer(error: unknown): Problem | undefined {
  if (!(error instanceof Problem) || error.code !== 'payment_required') return undefined
  const { fields, headers, facts } = error
  const { detail, ...decided } = facts
  const required = worsened(decodeHeader(headers['payment-required'] ?? ''), 2)
  return problem('payment_required', {
    ...(typeof detail === 'string' && { detail }),
    facts: decided,
    fields: { ...fields, ...worsened(fields, 1) },
    headers: { ...headers, ...(required && { 'payment-required': encodeHeader(required) }) },
  })
}

function worsened(told: unknown, version: 1 | 2): object | undefined {
  const [offer] = isObject(told) && Array.isArray(told.accepts) ? told.accepts.filter(isObject) : []
  if (!isObject(told) || !offer) return undefined
  const name = version === 1 ? 'maxAmountRequired' : 'amount'
  const amount = String(BigInt(String(offer[name])) * TIMES)
  return {
    ...told,
    accepts: [
      { ...offer, ...elsewhere, network: networks[version] },
      { ...offer, [name]: amount },
    ],
  }
}
