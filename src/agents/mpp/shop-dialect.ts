import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { z } from '../../http/fields/schema.js'
import { isObject } from '../../storage/unknown.js'
import type {
  CallOffer,
  CallRefusal,
  DialectPart,
  PaidRequest,
  PaymentDialect,
  RefusedInDialect,
  RequestedOffer,
  SentTransfer,
} from '../paid-calls/dialect.js'
import type { Hex } from '../wallets/evm.js'
import { authorizationIn, SentAuthorization, SentSignature, sentAddress } from '../wallets/sent-authorization.js'
import { acceptsPayment } from './accept-payment.js'
import {
  bodyDigest,
  type Challenge,
  challengeHeader,
  decodeJson,
  encodeJson,
  isGenuine,
  newChallenge,
} from './challenge.js'

/** The protocol MPP: method `evm`, intent `charge`, paid by a signed transfer whose nonce is the challenge's hash. */

const METHOD = 'evm'
/** What a credential is refused with (RFC 9457). The members of farthing's own errors are extensions of it. */
const PROBLEM_TYPE = 'application/problem+json'
const INTENT = 'charge'

/** The kinds of refusals of the protocol, each with its title, and what is wrong. */
const problems = {
  'payment-required': 'Payment Required',
  'malformed-credential': 'Malformed Credential',
  'invalid-challenge': 'Invalid Challenge',
  'invalid-payload': 'Invalid Payload',
  'verification-failed': 'Verification Failed',
  'payment-expired': 'Payment Expired',
  'payment-insufficient': 'Payment Insufficient',
  'payment-action-required': 'Payment Action Required',
} as const
type ProblemType = keyof typeof problems

const transferProblems: Readonly<Record<CallRefusal, readonly [type: ProblemType, sentence: string]>> = {
  smart_wallet: [
    'verification-failed',
    'Signatures of smart wallets (ERC-1271, ERC-6492) are not supported, because only a chain can check them.',
  ],
  signature_malformed: ['invalid-payload', 'A signature has 65 bytes.'],
  signature_wrong: ['verification-failed', "The payer's key did not sign this transfer."],
  recipient_differs: ['verification-failed', 'The transfer is signed to another address than `recipient`.'],
  expired: ['payment-expired', "The transfer is valid for less than 6 seconds, by the service's clock."],
  not_yet_valid: ['verification-failed', "`validAfter` is ahead, by the service's clock."],
  value_differs: ['payment-insufficient', 'The signed value is not the amount due now. Sign the new offer.'],
  token_unknown: ['verification-failed', 'No token of this network has the address `currency`.'],
  token_name_differs: ['verification-failed', 'The token has another name.'],
  token_version_differs: ['verification-failed', 'The token has another version.'],
  nonce_used: ['invalid-challenge', 'This challenge is already paid, and what it paid for was delivered.'],
  funds_missing: [
    'payment-insufficient',
    'The payer holds less than that. In a sandbox, fund its address: `farthing fund 0x… 5`.',
  ],
  approval_required: ['payment-action-required', 'approval_required: the user of the app that pays must approve this.'],
  delegate_refused: [
    'verification-failed',
    'delegate_refused: the delegate of this wallet does not allow this payment.',
  ],
  transfer_refused: ['verification-failed', 'The ledger refuses this transfer.'],
}

const Text = z.string().check(z.maxLength(8192))

const Credential = z.object({
  challenge: z.object({
    id: Text,
    realm: Text,
    method: Text,
    intent: Text,
    request: Text,
    expires: Text,
    digest: z.optional(Text),
    opaque: z.optional(Text),
  }),
  payload: z.object({
    ...SentAuthorization.shape,
    type: z.literal('authorization'),
    signature: z.secret(SentSignature),
  }),
  source: z.optional(Text),
})
type Credential = z.output<typeof Credential>

export const mppDialect: PaymentDialect = {
  name: 'MPP',
  offer: async (offer, service) => offered(offer, service),
  async read(request, offer, service) {
    const text = paymentIn(request.headers.get('authorization'))
    if (text === undefined) return undefined
    const { success, data } = Credential.safeParse(decodeJson(text))
    if (!success) return refused('malformed-credential', 'A credential is JSON in base64url, of type `authorization`.')
    return transferOf(data, request, offer, service)
  },
  wordsOf(refusal) {
    const [type, sentence] = transferProblems[refusal]
    return refused(type, sentence)
  },
  async refused({ reason, sentence }, offer, service) {
    const challenge = challengeFor(offer, service)
    const type = Object.hasOwn(problems, reason) ? (reason as ProblemType) : 'verification-failed'
    const fields = { type: typeUrl(type), title: problems[type], detail: sentence, challengeId: challenge.id }
    const headers = { 'www-authenticate': challengeHeader(challenge), 'content-type': PROBLEM_TYPE }
    return { headers, fields }
  },
  receipt({ transaction, paidAt, status }) {
    // What failed has no receipt.
    if (status >= 400) return {}
    const timestamp = new Date(paidAt).toISOString()
    return { 'payment-receipt': encodeJson({ method: METHOD, reference: transaction, status: 'success', timestamp }) }
  },
}

const typeUrl = (type: ProblemType): string => `https://paymentauth.org/problems/${type}`

const refused = (reason: ProblemType, sentence: string): RefusedInDialect => ({ reason, sentence })

function offered(offer: RequestedOffer, service: ServiceContext): DialectPart {
  if (!acceptsPayment(offer.request.headers.get('accept-payment'), METHOD, INTENT)) return { headers: {}, fields: {} }
  return { headers: { 'www-authenticate': challengeHeader(challengeFor(offer, service)) }, fields: {} }
}

/** The credential in `Authorization`, which may list several schemes. */
const paymentIn = (header: string | null): string | undefined =>
  header === null ? undefined : /(?:^|,)\s*Payment\s+([^\s,]+)/i.exec(header)?.[1]

const realmOf = ({ baseUrl }: Pick<ServiceContext, 'baseUrl'>): string => new URL(baseUrl).host

function challengeFor(offer: RequestedOffer, { keys, clock, random, ...service }: ServiceContext): Challenge {
  const { request, maxTimeoutSeconds } = offer
  const expires = new Date(Math.floor(clock.now() / 1000) * 1000 + maxTimeoutSeconds * 1000).toISOString()
  const digest = request.body.length > 0 ? { digest: bodyDigest(request.body) } : {}
  const terms = { realm: realmOf(service), method: METHOD, intent: INTENT, request: encodeJson(chargeOf(offer)) }
  // No two challenges are the same, so that one thing can be bought twice within a second.
  const opaque = encodeJson({ resource: soldIn(offer), salt: randomHex(random, 8) })
  return newChallenge({ ...terms, expires, ...digest, opaque }, keys)
}

const chargeOf = ({ amount, token, payTo, network }: CallOffer) => ({
  amount: String(amount),
  currency: token.verifyingContract,
  recipient: payTo,
  methodDetails: { chainId: network.chainId, credentialTypes: ['authorization'] },
})

/** What is sold, and for which query, so that a challenge for one thing pays for no other of the same price. */
const soldIn = ({ resource, request }: RequestedOffer): string => resource.url + new URL(request.url).search

function isFor({ opaque = '' }: Pick<Challenge, 'opaque'>, offer: RequestedOffer): boolean {
  const said = decodeJson(opaque)
  return isObject(said) && said.resource === soldIn(offer)
}

function transferOf(
  { challenge, payload, source }: Credential,
  request: PaidRequest,
  offer: RequestedOffer,
  { keys, clock, ...service }: ServiceContext,
): SentTransfer | RefusedInDialect {
  const from = sentAddress(payload.from)
  const says = (type: ProblemType, sentence: string) => ({ ...refused(type, sentence), payer: from })
  // A retry of what is paid gets the content again, whenever it comes.
  const late = Date.parse(challenge.expires) <= clock.now()
  if (late && !service.options.dialects.settlesAgain)
    return says('payment-expired', "The challenge has expired, by the service's clock.")
  if (!isGenuine(challenge, keys)) return says('invalid-challenge', 'This service made no such challenge.')
  if (challenge.realm !== realmOf(service)) return says('invalid-challenge', 'The challenge is of another realm.')
  if (!isFor(challenge, offer)) return says('invalid-challenge', 'The challenge is for something else.')
  if (challenge.digest !== (request.body.length > 0 ? bodyDigest(request.body) : undefined))
    return says('invalid-challenge', 'The challenge is for a request with another body.')
  if (payload.nonce.toLowerCase() !== challengeHash(challenge))
    return says('verification-failed', "The nonce is not the challenge's hash.")
  if (source !== undefined && source !== `did:pkh:eip155:${offer.network.chainId}:${from}`)
    return says('verification-failed', 'The source is not the address that signed.')
  const authorization = authorizationIn(payload)
  if (!authorization) return says('invalid-payload', 'A number has over 256 bits.')
  const { token, payTo, amount } = offer
  return {
    late,
    transfer: {
      authorization,
      signature: payload.signature as Hex,
      domain: { name: token.name, version: token.version },
      network: offer.network,
      token: token.verifyingContract,
      due: { payTo, amount },
    },
  }
}

/** The nonce of the transfer that pays a challenge. */
const challengeHash = ({ id, realm }: Challenge): string => `0x${bytesToHex(keccak_256(utf8ToBytes(`${id}${realm}`)))}`
