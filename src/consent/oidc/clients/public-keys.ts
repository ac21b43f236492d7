import { z } from '../../../http/fields/schema.js'

/** Secret members of a JWK (RFC 7518 sections 6.2.2, 6.3.2 and 6.4). */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

const MAX_KEYS = 16

const base64url = (least: number, most: number) =>
  z.string().check(z.regex(/^[A-Za-z0-9_-]+$/), z.minLength(least), z.maxLength(most))

const keyDescription = {
  kid: z.optional(z.string().check(z.maxLength(255))),
  use: z.optional(z.enum(['sig', 'enc'])),
  alg: z.optional(z.string().check(z.maxLength(32))),
  key_ops: z.optional(z.array(z.string().check(z.maxLength(32))).check(z.maxLength(8))),
}

/** A public key that a client registers. Unknown members are dropped. An RSA modulus has 2048 to 8192 bits. */
const PublicKey = z.union([
  z.object({ kty: z.literal('RSA'), n: base64url(342, 1366), e: base64url(1, 8), ...keyDescription }),
  z.object({
    kty: z.literal('EC'),
    crv: z.enum(['P-256', 'P-384', 'P-521']),
    x: base64url(1, 88),
    y: base64url(1, 88),
    ...keyDescription,
  }),
  z.object({
    kty: z.literal('OKP'),
    crv: z.enum(['Ed25519', 'Ed448', 'X25519', 'X448']),
    x: base64url(1, 76),
    ...keyDescription,
  }),
])

/** Checks a key set. Returns its public keys, or what is wrong with it. */
export function checkPublicKeys({ keys }: { readonly keys?: unknown }): { keys: object[] } | { wrong: string } {
  if (!Array.isArray(keys)) return { wrong: '`jwks` needs `keys`, an array of public keys.' }
  const sent: readonly unknown[] = keys
  if (keys.length > MAX_KEYS) return { wrong: `\`jwks\` takes at most ${MAX_KEYS} keys.` }
  const shown: object[] = []
  for (const key of sent) {
    const isSecret = typeof key === 'object' && key !== null && PRIVATE_MEMBERS.some((member) => member in key)
    if (isSecret)
      return { wrong: '`jwks` takes public keys only. Send no private or symmetric key, and replace this one.' }
    const checked = PublicKey.safeParse(key)
    if (!checked.success)
      return { wrong: 'A key in `jwks` is not supported. Send RSA keys of 2048 to 8192 bits, EC or OKP keys.' }
    shown.push(checked.data)
  }
  return { keys: shown }
}
