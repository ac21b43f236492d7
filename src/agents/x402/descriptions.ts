import type { TextsOf } from '../../http/openapi/texts.js'
import type { x402Routes } from './routes.js'

export const x402Texts: TextsOf<typeof x402Routes> = {
  operations: {
    listX402Kinds: 'Anybody may call this. Its base URL, `/x402`, is what an x402 shop has as its facilitator.',
    verifyX402Payment:
      'Anybody may call this. Scheme `exact` with a transfer authorization (EIP-3009), in version 2 or 1 of x402. A refusal is an answer too: `isValid` is false, and `invalidMessage` says why in words. The first valid signature of an unknown address creates a twin that holds nothing.',
    settleX402Payment:
      'Anybody may call this. It moves the amount once, whoever sends it. Again, it is refused as on a chain (`invalid_exact_evm_nonce_already_used`), or answered with the first receipt if the payment has the extension `payment-identifier` or the option `x402Settle` is `idempotent`.',
  },
  fields: {
    x402Version: 'The version of x402: 1 or 2.',
    kinds: 'A scheme and a network of each version.',
    extensions: 'The extensions that this service knows.',
    signers: 'The address of the facilitator, by networks. No chain has a transaction of it.',
    scheme: 'Always `exact`.',
    network: 'The network, as its version names it: `eip155:84532`, or `base-sepolia` in version 1.',
    paymentPayload: 'What the client sent in the header `PAYMENT-SIGNATURE`, or `X-PAYMENT` in version 1.',
    paymentRequirements: 'What the shop asked for.',
    isValid: 'Whether settling it now would pay.',
    invalidReason: 'The reason, as the packages of version 2 or the specification of version 1 name it.',
    invalidMessage: 'The reason in words.',
    payer: 'The address of the payer.',
    success: 'Whether the amount has moved.',
    errorReason: 'The reason, as the packages of version 2 or the specification of version 1 name it.',
    errorMessage: 'The reason in words.',
    transaction: 'The hash of the transaction that a chain would have made. Empty if nothing moved.',
    amount: "The amount that moved, in the token's smallest unit.",
  },
}
