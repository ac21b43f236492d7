import { checkOptions, createService, type Seed, type Seeded, type Service, type ServiceOptions } from 'farthing'

/** A seed whose lists may be read-only. */
export type GivenSeed = DeepReadonly<Seed>

type DeepReadonly<T> = T extends object ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> } : T

/** Everything that a seed creates, with credentials. A seed of two users creates two users. */
export type SeededBy<S extends GivenSeed> = Omit<Seeded, keyof S> & {
  readonly [Kind in keyof S & keyof Seeded]: S[Kind] extends readonly unknown[]
    ? ForEach<S[Kind], NonNullable<Seeded[Kind]>[number]>
    : Seeded[Kind]
}

/** A list, or a tuple, as long as another. */
type ForEach<List extends readonly unknown[], Created> = { readonly [Index in keyof List]: Created }

/** The options of the service that tests fork. It has a sandbox with a journal, and is in memory. */
export interface SeededServiceOptions<S extends GivenSeed = Seed>
  extends Omit<ServiceOptions, 'sandbox' | 'journal' | 'storage' | 'seed'> {
  /** What is there when a test begins. Default: nothing. */
  seed?: S
  /** Runs once, after the seed: each test begins with what it has done. */
  prepare?(service: Service, seeded: SeededBy<S>): unknown
}

/** A service with its seed. Each test gets a fork of it. */
export interface SeededService<S extends GivenSeed> {
  readonly service: Service
  readonly seeded: SeededBy<S>
}

/** How long a fork waits for its work in progress when its test is over, in milliseconds. */
const CLOSE_MS = 1000

/** Throws a TypeError that names a wrong option, before the first test runs. */
export function checkSeededOptions<S extends GivenSeed>({ prepare, ...options }: SeededServiceOptions<S>): void {
  for (const name of ['sandbox', 'journal', 'storage'])
    if (Object.hasOwn(options, name)) throw new TypeError(`"${name}" is not an option of farthingTest.`)
  if (prepare !== undefined && typeof prepare !== 'function') throw new TypeError('prepare must be a function.')
  checkOptions('createService', options)
}

export async function startSeeded<S extends GivenSeed>({
  seed,
  prepare,
  ...options
}: SeededServiceOptions<S>): Promise<SeededService<S>> {
  const service = createService({ ...options, sandbox: true })
  try {
    // The service changes no seed, and creates one thing for each element, in its order.
    const seeded = (await service.sandbox.seed((seed ?? {}) as Seed)) as SeededBy<S>
    await prepare?.(service, seeded)
    return { service, seeded }
  } catch (error) {
    await service.close()
    throw error
  }
}

/** Closes the fork of a test that is over. Nobody waits for what it still does. */
export const closeFork = (fork: Service): Promise<void> => fork.close({ withinMs: CLOSE_MS })

/**
 * Returns the sign-in code of the newest mail to an address whose code it has not returned yet. Waits for one, at most
 * `seconds` of real time (default: 5), and then throws an Error.
 */
export type CodeFor = (email: string, options?: { seconds?: number }) => Promise<string>

/** Hands out the codes that a service mails, each once: a test that signs in twice gets two codes. */
export function mailedCodes({ sandbox }: Pick<Service, 'sandbox'>): CodeFor {
  const returned = new Set<number>()
  async function newestCode(email: string): Promise<string | undefined> {
    const { messages } = await sandbox.outbox({ to: email, kind: 'mail' })
    const [mail] = messages.filter(({ codes }) => codes.length > 0)
    if (!mail || returned.has(mail.id)) return undefined
    returned.add(mail.id)
    return mail.codes[0]
  }
  return async (email, { seconds = 5 } = {}) => {
    const over = new AbortController()
    const late = setTimeout(() => over.abort(), seconds * 1000)
    const work = sandbox.requests.follow({}, { signal: over.signal })
    try {
      for (;;) {
        // Listens first, so that it misses no mail.
        const next = work.next()
        // Nobody waits for it once there is a code.
        next.catch(() => {})
        const code = await newestCode(email)
        if (code !== undefined) return code
        if ((await next).done) throw new Error(`No code was mailed to ${email} within ${seconds} seconds.`)
      }
    } finally {
      clearTimeout(late)
      over.abort()
    }
  }
}
