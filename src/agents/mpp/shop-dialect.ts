import type { ServiceContext } from '../../http/context.js'
import type { DialectPart, PaymentDialect, RequestedOffer } from '../paid-calls/dialect.js'
import { acceptsPayment } from './accept-payment.js'
import { bodyDigest, challengeHeader, decodeJson, encodeJson } from './challenge.js'
import {
  type BoundOffer,
  challengeFor,
  chargeIn,
  chargeReceipt,
  MPP_INTENT,
  MPP_METHOD,
  mppWordsOf,
  problemOf,
} from './charge.js'

/** What a credential is refused with (RFC 9457). The members of farthing's own errors are extensions of it. */
const PROBLEM_TYPE = 'application/problem+json'

/** MPP over HTTP: the authentication scheme `Payment`. */
export const mppDialect: PaymentDialect = {
  name: 'MPP',
  offer: async (offer, service) => offered(offer, service),
  async read(request, offer, service) {
    const credential = credentialIn(request)
    return credential && chargeIn(credential.json, boundOffer(offer), service)
  },
  wordsOf: mppWordsOf,
  async refused(refusal, offer, service) {
    const challenge = challengeFor(boundOffer(offer), service)
    const headers = { 'www-authenticate': challengeHeader(challenge), 'content-type': PROBLEM_TYPE }
    return { headers, fields: problemOf(refusal, challenge) }
  },
  receipt(payment, offer) {
    const receipt = chargeReceipt(payment, offer, credentialIn(offer.request)?.json)
    return receipt ? { 'payment-receipt': encodeJson(receipt) } : {}
  },
}

function offered(offer: RequestedOffer, service: ServiceContext): DialectPart {
  const accepted = offer.request.headers.get('accept-payment')
  if (!acceptsPayment(accepted, MPP_METHOD, MPP_INTENT)) return { headers: {}, fields: {} }
  return { headers: { 'www-authenticate': challengeHeader(challengeFor(boundOffer(offer), service)) }, fields: {} }
}

/** The credential in `Authorization`, which may list several schemes. */
function credentialIn({ headers }: RequestedOffer['request']): { json: unknown } | undefined {
  const [, text] = /(?:^|,)\s*Payment\s+([^\s,]+)/i.exec(headers.get('authorization') ?? '') ?? []
  return text === undefined ? undefined : { json: decodeJson(text) }
}

/** Bound to the resource, its query and its body. */
const boundOffer = ({ request, ...offer }: RequestedOffer): BoundOffer => ({
  ...offer,
  subject: offer.resource.url + new URL(request.url).search,
  digest: request.body.length > 0 ? bodyDigest(request.body) : undefined,
})
