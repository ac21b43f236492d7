import { Challenge, Credential } from 'mppx'
import { evm } from 'mppx/evm/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Answer, Call } from '../api.js'
import { callItem } from './paid-calls.js'

/** Buyers of MPP: the package's own codec and signer. */

/** The challenge of a 402. */
export const challengeIn = ({ headers }: Answer) => Challenge.deserialize(headers.get('www-authenticate') ?? '')

export type Offered = ReturnType<typeof challengeIn>

const TOKEN = { name: 'USDC', version: '2' }

/** The header with which an account pays a challenge. `change` changes the credential before it is written. */
export async function payChallenge(
  account: PrivateKeyAccount,
  challenge: Offered,
  change: (credential: any) => void = () => {},
): Promise<{ authorization: string }> {
  const [method] = evm({ account, authorization: TOKEN })
  const credential = Credential.deserialize(await method.createCredential({ challenge, context: {} } as never))
  change(credential)
  return { authorization: Credential.serialize(credential) }
}

/** The receipt of a paid answer. */
export const mppReceiptIn = ({ headers }: Answer) =>
  JSON.parse(Buffer.from(headers.get('payment-receipt') ?? '', 'base64url').toString() || 'null')

/** Reads the challenge for an item, and returns the header that pays it. */
export const payByMpp = async (call: Call, account: PrivateKeyAccount, item: { id: number }) =>
  payChallenge(account, challengeIn(await callItem(call, item)))
