import type { CallRefusal } from '../paid-calls/dialect.js'
import type { PayloadRefusal } from './payload.js'

export type X402Refusal = PayloadRefusal | CallRefusal

interface Reason {
  /** Of `@x402/evm`. */
  readonly v2: string
  /** Of the specification of version 1, section 9. */
  readonly v1: string
  readonly sentence: string
}

const SIGNATURE_V1 = 'invalid_exact_evm_payload_signature'
const STATE_V1 = 'invalid_transaction_state'

/** The reason for each refusal, in both versions, and what to do. */
export const reasons: Readonly<Record<X402Refusal, Reason>> = {
  scheme_unsupported: {
    v2: 'invalid_exact_evm_scheme',
    v1: 'unsupported_scheme',
    sentence: 'This service takes the scheme `exact` only. It has no `upto` and no batches.',
  },
  network_unknown: {
    v2: 'invalid_exact_evm_network_mismatch',
    v1: 'invalid_network',
    sentence: 'This service stands for another network. See GET /x402/supported, and its option `x402Networks`.',
  },
  network_differs: {
    v2: 'invalid_exact_evm_network_mismatch',
    v1: 'invalid_network',
    sentence: 'The payment is for another network than the requirements.',
  },
  permit2_unsupported: {
    v2: 'unsupported_payload_type',
    v1: 'invalid_payload',
    sentence: 'Permit2 is not supported. Sign a transfer authorization (EIP-3009).',
  },
  payload_malformed: {
    v2: 'unsupported_payload_type',
    v1: 'invalid_payload',
    sentence: 'The payload is no signed transfer authorization (EIP-3009).',
  },
  domain_missing: {
    v2: 'invalid_exact_evm_missing_eip712_domain',
    v1: 'invalid_payment_requirements',
    sentence: "The requirements need `extra.name` and `extra.version`, of the token's domain (EIP-712).",
  },
  smart_wallet: {
    v2: 'invalid_exact_evm_signature',
    v1: SIGNATURE_V1,
    sentence:
      'Signatures of smart wallets (ERC-1271, ERC-6492) are not supported, because only a chain can check them. Sign with a private key.',
  },
  signature_malformed: {
    v2: 'invalid_exact_evm_signature',
    v1: SIGNATURE_V1,
    sentence: 'A signature has 65 bytes.',
  },
  signature_wrong: {
    v2: 'invalid_exact_evm_signature',
    v1: SIGNATURE_V1,
    sentence:
      "The payer's key did not sign this: compare the chain, the token, its name and version, and all signed fields.",
  },
  recipient_differs: {
    v2: 'invalid_exact_evm_recipient_mismatch',
    v1: 'invalid_exact_evm_payload_recipient_mismatch',
    sentence: 'The transfer is signed to another address than `payTo`.',
  },
  expired: {
    v2: 'invalid_exact_evm_payload_authorization_valid_before',
    v1: 'invalid_exact_evm_payload_authorization_valid_before',
    sentence: "`validBefore` is past or less than 6 seconds away, by the service's clock.",
  },
  not_yet_valid: {
    v2: 'invalid_exact_evm_payload_authorization_valid_after',
    v1: 'invalid_exact_evm_payload_authorization_valid_after',
    sentence: "`validAfter` is ahead, by the service's clock.",
  },
  value_differs: {
    v2: 'invalid_exact_evm_payload_authorization_value_mismatch',
    v1: 'invalid_exact_evm_payload_authorization_value',
    sentence: 'The signed value is not the amount due.',
  },
  token_unknown: {
    v2: 'asset_not_deployed_contract',
    v1: 'invalid_payment_requirements',
    sentence: 'No token of this network has the address `asset`.',
  },
  token_name_differs: {
    v2: 'invalid_exact_evm_token_name_mismatch',
    v1: SIGNATURE_V1,
    sentence: 'The token has another name (`extra.name`).',
  },
  token_version_differs: {
    v2: 'invalid_exact_evm_token_version_mismatch',
    v1: SIGNATURE_V1,
    sentence: 'The token has another version (`extra.version`).',
  },
  nonce_used: {
    v2: 'invalid_exact_evm_nonce_already_used',
    v1: STATE_V1,
    sentence: 'This authorization has already paid. Sign a new one for another payment.',
  },
  funds_missing: {
    v2: 'invalid_exact_evm_insufficient_balance',
    v1: 'insufficient_funds',
    sentence: 'The payer holds less than that. In a sandbox, fund its address: `farthing fund 0x… 5`.',
  },
  approval_required: {
    v2: 'approval_required',
    v1: STATE_V1,
    sentence: 'approval_required: the user of the app that pays must approve this.',
  },
  delegate_refused: {
    v2: 'delegate_refused',
    v1: STATE_V1,
    sentence: 'delegate_refused: the delegate of this wallet does not allow this payment.',
  },
  transfer_refused: {
    v2: 'invalid_exact_evm_transaction_failed',
    v1: STATE_V1,
    sentence: 'The ledger refuses this transfer.',
  },
}
