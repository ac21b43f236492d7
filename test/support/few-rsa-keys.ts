import { webcrypto } from 'node:crypto'

/** More than a test needs at once, so that a rotation still signs with another key. */
const MOST = 4

type Generate = (algorithm: { readonly name?: string }, ...rest: unknown[]) => Promise<unknown>

const SHARED = Symbol.for('few RSA keys')

/**
 * Services that tests create in their own process share a few RSA keys, which are made once and handed out in turn. Finding
 * the primes of one takes longer than most cases. Services in browsers and other processes make their own.
 */
function shareKeys(generate: Generate): Generate {
  const made = new Map<string, Promise<unknown>>()
  let asked = 0
  const share: Generate = (algorithm, ...rest) => {
    if (!algorithm.name?.startsWith('RSA')) return generate(algorithm, ...rest)
    const which = JSON.stringify([asked++ % MOST, algorithm, rest])
    const key = made.get(which) ?? generate(algorithm, ...rest)
    made.set(which, key)
    return key
  }
  return Object.assign(share, { [SHARED]: true })
}

// Of Node: a test environment may put a `crypto` of its own in front of it. On the prototype, where the simulator watches it.
const platform = Object.getPrototypeOf(webcrypto.subtle)
// Files that share a process share them.
if (!(SHARED in platform.generateKey))
  platform.generateKey = shareKeys(platform.generateKey.bind(webcrypto.subtle) as Generate)
