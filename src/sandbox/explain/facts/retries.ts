import type { Entry } from '../../onion/entry.js'
import type { Explained } from './explanation.js'
import type { RefusedRequest } from './refused-request.js'

/** Says what a retry does if the answer of this call was lost, and whether this call did again what one before it did. */
export async function describeRetries({ entry, operation, findEarlier }: RefusedRequest): Promise<Explained> {
  if (!operation?.idempotent || entry.caused.length === 0) return { sentences: [] }
  const key = keyOf(entry)
  if (isLost(entry)) return { sentences: [key === undefined ? LOST_WITHOUT_KEY : LOST] }
  const before = await findEarlier((earlier) => isSameCall(earlier, entry))
  if (!before || !isLost(before) || (key !== undefined && key === keyOf(before))) return { sentences: [] }
  return {
    sentences: [
      `${before.id} is the same call, and its answer was lost. This one has ${key === undefined ? 'no' : 'a different'} Idempotency-Key. If it was a retry, its caller did this twice: send each try with the key of the first.`,
    ],
    facts: { repeats: before.id },
  }
}

const LOST =
  'It happened, but its answer was lost. A retry with the same Idempotency-Key gets the answer. With a different key, it happens again.'
const LOST_WITHOUT_KEY =
  'It happened, but its answer was lost. It had no Idempotency-Key, so with a retry it happens again.'

const keyOf = ({ request }: Entry): string | undefined => request.headers['idempotency-key']

const isLost = ({ status, ms, caused }: Entry): boolean => status === null && ms !== null && caused.length > 0

const isSameCall = (one: Entry, other: Entry): boolean =>
  one.operation_id === other.operation_id &&
  one.path === other.path &&
  one.principal === other.principal &&
  one.request.body === other.request.body
