import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { memoize } from '../../base/memo.js'

/** An address of an EVM chain, in the mixed case that checks itself (EIP-55). */
export type Address = `0x${string}`
export type Hex = `0x${string}`

const hashOf = (text: string): Uint8Array => keccak_256(utf8ToBytes(text))

/** The address in a text of 40 hex digits, in any case. Undefined if it is none. */
export function addressIn(text: string): Address | undefined {
  const [, digits] = /^0x([0-9a-f]{40})$/i.exec(text) ?? []
  return digits === undefined ? undefined : checksummed(digits.toLowerCase())
}

/** Writes 40 lower-case hex digits as EIP-55 does: a letter is a capital where the hash of the digits has 8 or more. */
export const checksummed = memoize((digits): Address => {
  const hash = bytesToHex(hashOf(digits))
  return `0x${digits.replace(/[a-f]/g, (letter, at: number) => ((hash[at] ?? '') >= '8' ? letter.toUpperCase() : letter))}`
}, 1 << 20)

/** The domain of a token's signatures (EIP-712). */
export interface TokenDomain {
  readonly name: string
  readonly version: string
  readonly chainId: number
  readonly verifyingContract: Address
}

/** What a payer signs: a transfer of a token by whoever has the signature (EIP-3009). Times are Unix seconds. */
export interface TransferAuthorization {
  readonly from: Address
  readonly to: Address
  /** In the token's smallest unit. */
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: Hex
}

const word = (value: bigint | number): Uint8Array => hexToBytes(BigInt(value).toString(16).padStart(64, '0'))
const addressWord = (address: Address): Uint8Array => hexToBytes(address.slice(2).toLowerCase().padStart(64, '0'))

const DOMAIN_TYPE = hashOf('EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)')
const TRANSFER_TYPE = hashOf(
  'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)

/** The hash of a domain, which is the same for all transfers of a token. */
const separatorOf = memoize((domain) => {
  const [name, version, chainId, contract] = JSON.parse(domain) as [string, string, number, Address]
  return keccak_256(concatBytes(DOMAIN_TYPE, hashOf(name), hashOf(version), word(chainId), addressWord(contract)))
}, 1 << 18)

/** The 32 bytes that the payer signs (EIP-712). */
export function authorizationHash(authorization: TransferAuthorization, domain: TokenDomain): Uint8Array {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const parties = [addressWord(from), addressWord(to)]
  const message = [...parties, word(value), word(validAfter), word(validBefore), hexToBytes(nonce.slice(2))]
  return keccak_256(
    concatBytes(
      Uint8Array.of(0x19, 0x01),
      separatorOf(JSON.stringify([domain.name, domain.version, domain.chainId, domain.verifyingContract])),
      keccak_256(concatBytes(TRANSFER_TYPE, ...message)),
    ),
  )
}

/**
 * The address whose key made a signature of 65 bytes. Undefined for bytes that are no signature, and for the second
 * form of each signature (EIP-2), which tokens refuse.
 */
export const signerOf = (hash: Uint8Array, signature: Hex): Address | undefined =>
  recoveredSigner(`${bytesToHex(hash)} ${signature}`) || undefined

/** Remembered, since a shop has each payment verified and then settled: the curve is most of what either costs. */
const recoveredSigner = memoize((signed): Address | '' => {
  const [, hash = '', compact, recovery = ''] = /^([0-9a-f]{64}) 0x([0-9a-f]{128})(00|01|1b|1c)$/i.exec(signed) ?? []
  if (compact === undefined) return ''
  try {
    const signature = secp256k1.Signature.fromBytes(hexToBytes(compact), 'compact')
    if (signature.hasHighS()) return ''
    return addressOfPoint(
      signature
        .addRecoveryBit(Number.parseInt(recovery, 16) % 27)
        .recoverPublicKey(hexToBytes(hash))
        .toBytes(false),
    )
  } catch {
    return ''
  }
}, 1 << 18)

/** The address of a private key of 32 bytes. Undefined if it is none. */
export function addressOfKey(privateKey: Uint8Array): Address | undefined {
  return secp256k1.utils.isValidSecretKey(privateKey)
    ? addressOfPoint(secp256k1.getPublicKey(privateKey, false))
    : undefined
}

const addressOfPoint = (point: Uint8Array): Address => checksummed(bytesToHex(keccak_256(point.slice(1))).slice(24))
