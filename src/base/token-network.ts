/** A chain of the dialects x402 and MPP, and the token on it that stands for the digital quantity USDC. Nobody calls it. */
export interface TokenNetwork {
  /** As CAIP-2 writes it: `eip155:84532`. */
  readonly network: string
  readonly chainId: number
  /** The name that version 1 of x402 has for it, such as `base-sepolia`. Undefined if it has none. */
  readonly nameV1: string | undefined
  /** The address of its USDC contract. */
  readonly asset: string
  /** The name and version in the domain of its signatures (EIP-712). */
  readonly name: string
  readonly version: string
}

/** What the options say about the dialects x402 and MPP. */
export interface DialectOptions {
  /** The first one is that of the service's own offers. */
  readonly networks: readonly TokenNetwork[]
  /** Whether settling one authorization again answers the first receipt. If false, it is refused as a chain would. */
  readonly settlesAgain: boolean
}

/** By chain id: the name in version 1, the address of USDC, and its name there. */
const known: Readonly<Record<number, readonly [nameV1: string, asset: string, name: string]>> = {
  84532: ['base-sepolia', '0x036CbD53842c5426634e7929541eC2318f3dCF7e', 'USDC'],
  8453: ['base', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', 'USD Coin'],
  43113: ['avalanche-fuji', '0x5425890298aed601595a70AB815c96711a31Bc65', 'USD Coin'],
  43114: ['avalanche', '0xB97EF9Ef8734C71904D8002F8b6Bc66Dd9c48a6E', 'USD Coin'],
  137: ['polygon', '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359', 'USD Coin'],
  80002: ['polygon-amoy', '0x41E94Eb019C0762f9Bfcf9Fb1E58725BfB0e7582', 'USDC'],
}

export const NETWORK_EXPECTED =
  'a network such as eip155:84532, or one with the address of its token: eip155:1337/erc20:0x and 40 hex digits'

/** The network in a text: a CAIP-2 id whose USDC is known, or a CAIP-19 id with the address of the token. */
export function tokenNetworkIn(text: string): TokenNetwork | undefined {
  const [, id, given] = /^eip155:([1-9]\d{0,14})(?:\/erc20:(0x[0-9a-f]{40}))?$/i.exec(text) ?? []
  const chainId = Number(id)
  const [nameV1, usual, name = 'USDC'] = known[chainId] ?? []
  const asset = given ?? usual
  return id === undefined || asset === undefined
    ? undefined
    : { network: `eip155:${chainId}`, chainId, nameV1, asset, name, version: '2' }
}
