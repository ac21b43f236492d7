import type { ServiceContext } from '../../../http/context.js'
import { z } from '../../../http/fields/schema.js'
import { isObject } from '../../../storage/unknown.js'
import { type Challenge, decodeJson, encodeJson } from '../../mpp/challenge.js'
import {
  type BoundOffer,
  ChallengeText,
  challengeFor,
  chargeIn,
  chargeReceipt,
  mppWordsOf,
  problemOf,
} from '../../mpp/charge.js'
import { MPP_CREDENTIAL } from './paying-client.js'
import type { Json } from './tool.js'
import type { RefusedSale, ToolDialect } from './tool-dialect.js'

/** Error codes (draft-payment-transport-mcp, section 8.1). The first is also that of URL elicitation. */
const PAYMENT_REQUIRED = -32042
const VERIFICATION_FAILED = -32043
const INVALID_PARAMS = -32602

/** MPP over MCP, for clients that say so. */
export const mppTool: ToolDialect = {
  isSpoken: ({ mpp }) => mpp,
  required: (offer, _client, service) => ({
    error: { code: PAYMENT_REQUIRED, message: 'Payment Required', data: dataOf(challengeFor(offer, service)) },
  }),
  read({ meta }, offer, service) {
    return Object.hasOwn(meta, MPP_CREDENTIAL) ? chargeIn(writtenCredential(meta), offer, service) : undefined
  },
  wordsOf: mppWordsOf,
  refused(refusal, offer, _client, service) {
    const code = MALFORMED.includes(refusal.reason) ? INVALID_PARAMS : VERIFICATION_FAILED
    const message = `${refusal.reason}: ${refusal.sentence}`
    return { error: { code, message, data: dataOf(challengeFor(offer, service), refusal) } }
  },
  receipt(payment, offer, { meta }) {
    const receipt = chargeReceipt(payment, offer, credentialIn(meta))
    return receipt ? { 'org.paymentauth/receipt': receipt } : {}
  },
}

const MALFORMED: readonly string[] = ['malformed-credential', 'invalid-payload']

/** The challenge in the `_meta` of an answer in another dialect. */
export const mppOffered = (offer: BoundOffer, service: ServiceContext): Json => ({
  'org.paymentauth/payment-required': dataOf(challengeFor(offer, service)),
})

function dataOf(challenge: Challenge, refusal?: RefusedSale): Json {
  const problem = refusal && {
    problem: { ...problemOf(refusal, challenge), status: 402, detail: refusal.sentence, ...refusal.fields },
  }
  return { httpStatus: 402, challenges: [{ ...challenge, request: decodeJson(challenge.request) }], ...problem }
}

/** What a challenge asks for, as JSON. Nothing else is written as text, however deep it is. */
const SentRequest = z.strictObject({
  amount: ChallengeText,
  currency: ChallengeText,
  recipient: ChallengeText,
  methodDetails: z.strictObject({ chainId: z.int(), credentialTypes: z.array(ChallengeText) }),
})

/** A credential as HTTP has it, where the challenge's `request` is text. */
function writtenCredential(meta: Json): unknown {
  const challenge = challengeIn(meta)
  const { success, data } = SentRequest.safeParse(challenge?.request)
  return success ? { ...credentialIn(meta), challenge: { ...challenge, request: encodeJson(data) } } : undefined
}

const credentialIn = ({ [MPP_CREDENTIAL]: value }: Json): Readonly<Json> | undefined =>
  isObject(value) ? value : undefined

function challengeIn(meta: Json): Readonly<Json> | undefined {
  const challenge = credentialIn(meta)?.challenge
  return isObject(challenge) ? challenge : undefined
}
