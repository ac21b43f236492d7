import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js'
import { digest as digestOf, randomHex } from '../../base/secrets.js'
import type { ServiceContext } from '../../http/context.js'
import { z } from '../../http/fields/schema.js'
import { fieldOf } from '../../storage/unknown.js'
import type { CallOffer, CallReceipt, CallRefusal, RefusedInDialect, SentTransfer } from '../paid-calls/dialect.js'
import type { Hex } from '../wallets/evm.js'
import { authorizationIn, SentAuthorization, SentSignature, sentAddress } from '../wallets/sent-authorization.js'
import { type Challenge, decodeJson, encodeJson, isGenuine, newChallenge } from './challenge.js'

/** MPP by method `evm` and intent `charge`, whichever way its messages come: a signed transfer pays, and its nonce is the challenge's hash. */

export const MPP_METHOD = 'evm'
export const MPP_INTENT = 'charge'

/** An offer, and the one call that its challenges pay for. */
export interface BoundOffer extends CallOffer {
  /** What is sold, so that a challenge for one thing pays for no other of the same price. */
  readonly subject: string
  /** Of the body or the arguments. Absent if there are none. */
  readonly digest: string | undefined
}

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
  expired: [
    'payment-expired',
    "The challenge has expired, or the transfer is valid for less than 6 seconds, by the service's clock.",
  ],
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

/** A field of a challenge. */
export const ChallengeText = z.string().check(z.maxLength(8192))

const Credential = z.object({
  challenge: z.object({
    id: ChallengeText,
    realm: ChallengeText,
    method: ChallengeText,
    intent: ChallengeText,
    request: ChallengeText,
    expires: ChallengeText,
    digest: z.optional(ChallengeText),
    opaque: z.optional(ChallengeText),
  }),
  payload: z.object({
    ...SentAuthorization.shape,
    type: z.literal('authorization'),
    signature: z.secret(SentSignature),
  }),
  source: z.optional(ChallengeText),
})
type Credential = z.output<typeof Credential>

/** The words of MPP for a refusal. */
export function mppWordsOf(refusal: CallRefusal): RefusedInDialect {
  const [type, sentence] = transferProblems[refusal]
  return refused(type, sentence)
}

/** What an answer says about a refusal, with the challenge that offers the call again (RFC 9457). */
export function problemOf({ reason, sentence: detail }: RefusedInDialect, { id: challengeId }: Challenge) {
  const type = Object.hasOwn(problems, reason) ? (reason as ProblemType) : 'verification-failed'
  return { type: `https://paymentauth.org/problems/${type}`, title: problems[type], detail, challengeId }
}

/**
 * The receipt of a payment by a credential (draft-evm-charge, "Receipt Generation"). Undefined if what was paid for failed.
 */
export function chargeReceipt(
  { transaction, paidAt, status }: CallReceipt,
  { network: { chainId } }: CallOffer,
  credential: unknown,
) {
  if (status >= 400) return undefined
  const challengeId = fieldOf(fieldOf(credential, 'challenge'), 'id')
  const timestamp = new Date(paidAt).toISOString()
  return { method: MPP_METHOD, challengeId, reference: transaction, status: 'success', timestamp, chainId }
}

const refused = (reason: ProblemType, sentence: string): RefusedInDialect => ({ reason, sentence })

const realmOf = ({ baseUrl }: Pick<ServiceContext, 'baseUrl'>): string => new URL(baseUrl).host

export function challengeFor(offer: BoundOffer, { keys, clock, random, ...service }: ServiceContext): Challenge {
  const { subject, digest, maxTimeoutSeconds } = offer
  const expires = new Date(Math.floor(clock.now() / 1000) * 1000 + maxTimeoutSeconds * 1000).toISOString()
  const terms = {
    realm: realmOf(service),
    method: MPP_METHOD,
    intent: MPP_INTENT,
    request: encodeJson(chargeOf(offer)),
  }
  // No two challenges are the same, so that one thing can be bought twice within a second.
  const opaque = encodeJson({ resource: shortSubject(subject), salt: randomHex(random, 8) })
  return newChallenge({ ...terms, expires, ...(digest !== undefined && { digest }), opaque }, keys)
}

const chargeOf = ({ amount, token, payTo, network }: CallOffer) => ({
  amount: String(amount),
  currency: token.verifyingContract,
  recipient: payTo,
  methodDetails: { chainId: network.chainId, credentialTypes: ['authorization'] },
})

/** A long query would make a header that clients do not take. */
const shortSubject = (subject: string): string => (subject.length > 256 ? `sha-256=${digestOf(subject)}` : subject)

function isFor({ opaque = '' }: Pick<Challenge, 'opaque'>, { subject }: BoundOffer): boolean {
  return fieldOf(decodeJson(opaque), 'resource') === shortSubject(subject)
}

/** The payment in a credential, or why it is none. */
export function chargeIn(value: unknown, offer: BoundOffer, service: ServiceContext): SentTransfer | RefusedInDialect {
  const { success, data } = Credential.safeParse(value)
  return success
    ? transferOf(data, offer, service)
    : refused('malformed-credential', 'A credential is JSON of a challenge and a payload of type `authorization`.')
}

function transferOf(
  { challenge, payload, source }: Credential,
  offer: BoundOffer,
  { keys, clock, ...service }: ServiceContext,
): SentTransfer | RefusedInDialect {
  const from = sentAddress(payload.from)
  const says = (type: ProblemType, sentence: string) => ({ ...refused(type, sentence), payer: from })
  if (!isGenuine(challenge, keys)) return says('invalid-challenge', 'This service made no such challenge.')
  if (challenge.realm !== realmOf(service)) return says('invalid-challenge', 'The challenge is of another realm.')
  if (!isFor(challenge, offer)) return says('invalid-challenge', 'The challenge is for something else.')
  if (challenge.digest !== offer.digest)
    return says('invalid-challenge', 'The challenge is for another body or other arguments.')
  if (payload.nonce.toLowerCase() !== challengeHash(challenge))
    return says('verification-failed', "The nonce is not the challenge's hash.")
  if (source !== undefined && source !== `did:pkh:eip155:${offer.network.chainId}:${from}`)
    return says('verification-failed', 'The source is not the address that signed.')
  const authorization = authorizationIn(payload)
  if (!authorization) return says('invalid-payload', 'A number has over 256 bits.')
  const { token, payTo, amount } = offer
  return {
    // A retry of what is paid gets the content again, whenever it comes.
    late: Date.parse(challenge.expires) <= clock.now(),
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
