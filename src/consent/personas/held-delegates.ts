import type { Owner } from '../../base/owner.js'
import { letOthersRun } from '../../base/ports.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { generationOf } from '../../identity/users/user.js'
import { twins } from '../../money/twins/twin.js'
import { keyIn } from '../../storage/key.js'
import { ReadOnce } from '../../storage/page.js'
import type { Key, Reader } from '../../storage/storage.js'
import { type DelegateRow, delegates, isDelegateValid } from './delegate.js'
import { type PersonaRow, personaOf } from './persona.js'

/** How many delegates, and how many twins, one transaction reads. Anybody gives delegates to anybody. */
const SLICE = 100

/** A part of what is held, and where the next part begins. Undefined: there is none. */
interface Slice<T> {
  readonly part: T
  readonly next: HeldPlace | undefined
}

interface HeldPlace {
  readonly twinId: number
  /** The key of the last delegate. Undefined: the twin's first is next. */
  readonly after: readonly Key[] | undefined
}

/** The delegates that a twin holds now, oldest first, in slices between which other calls run. */
export async function* delegatesHeld({ storage }: Pick<ServiceContext, 'storage'>, twinId: number) {
  for (let place: HeldPlace | undefined = { twinId, after: undefined }; place; await letOthersRun()) {
    const from: HeldPlace = place
    const { part, next }: Slice<DelegateRow[]> = await storage.read(async (tx) => {
      const { rows, next } = await heldByTwin(tx, from, SLICE)
      return { part: await validOf(tx, rows), next }
    })
    yield part
    place = next
  }
}

async function heldByTwin(tx: Reader, { twinId, after }: HeldPlace, limit: number) {
  const rows = await tx.find(delegates, { index: 'byTwin', prefix: [twinId], limit, ...(after && { after }) })
  const last = rows.at(-1)
  const next = rows.length === limit && last ? { twinId, after: keyIn(delegates.indexes.byTwin, last) } : undefined
  return { rows, next }
}

async function validOf(tx: Reader, rows: readonly DelegateRow[]): Promise<DelegateRow[]> {
  const read = new ReadOnce(tx)
  const valid = []
  for (const row of rows) if (await isDelegateValid(read, row)) valid.push(row)
  return valid
}

/** The first delegates that all twins of an owner hold now, or those from a place on. */
export async function heldByOwner(tx: Reader, owner: Owner, from?: HeldPlace): Promise<Slice<DelegateRow[]>> {
  const past = from && { after: [owner, from.twinId - 1] }
  const looked = await tx.find(twins, { index: 'byOwner', prefix: [owner], limit: SLICE, ...past })
  const found: DelegateRow[] = []
  for (const { id: twinId } of looked) {
    const after = twinId === from?.twinId ? from.after : undefined
    const { rows, next } = await heldByTwin(tx, { twinId, after }, SLICE - found.length)
    found.push(...rows)
    if (next) return { part: await validOf(tx, found), next }
  }
  const last = looked.at(-1)
  const next = last && looked.length === SLICE ? { twinId: last.id + 1, after: undefined } : undefined
  return { part: await validOf(tx, found), next }
}

/** The hashes of delegates by persona, oldest first (Micro Payment Service Interface, section 2). */
export function mappingOf(rows: readonly DelegateRow[], mapping: Map<string, string[]> = new Map()) {
  for (const { persona, id } of rows) {
    const known = mapping.get(persona)
    if (known) known.push(id)
    else mapping.set(persona, [id])
  }
  return mapping
}

/** The JSON of the whole mapping, which begins with a slice. The rest is read in slices too. */
export async function* mappingText(
  { part, next }: Slice<DelegateRow[]>,
  owner: Owner,
  { storage }: Pick<ServiceContext, 'storage'>,
): AsyncGenerator<string> {
  const mapping = mappingOf(part)
  for (let place = next; place; await letOthersRun()) {
    const from = place
    const slice = await storage.read((tx) => heldByOwner(tx, owner, from))
    mappingOf(slice.part, mapping)
    place = slice.next
  }
  let before = '{'
  for (const [persona, hashes] of mapping) {
    yield `${before}${JSON.stringify(persona)}:${JSON.stringify(hashes)}`
    before = ','
  }
  yield before === '{' ? '{}' : '}'
}

export interface Verification {
  readonly persona: string
  readonly twinId: number
  /** The caller, if they own twins. */
  readonly caller: Owner | undefined
  /** Inclusive. */
  readonly issueMin?: number | undefined
  readonly issueMax?: number | undefined
}

interface FirstInstances {
  readonly persona: PersonaRow
  readonly hostname: string
  readonly instances: readonly string[]
  /** The number of the last one that was looked at. Undefined: these are all. */
  readonly next: number | undefined
}

const AFTER_HASHES = '~'

/**
 * Finds the delegates of a persona that a twin holds now, oldest first (Micro Payment Service Interface, section 4.6), or
 * those past a number. Anybody who knows a delegate for a publishable secret can spend with it, so only its two sides see
 * it. Throws `not_found` for an unknown persona or twin.
 */
export async function verifyPersona(
  tx: Reader,
  { persona: hash, twinId, caller, issueMin = 1, issueMax = Number.MAX_SAFE_INTEGER }: Verification,
  past = issueMin - 1,
): Promise<FirstInstances> {
  const persona = await personaOf(tx, hash)
  const twin = await tx.get(twins, twinId)
  if (!twin) throw problem('not_found', { detail: 'No twin has this id.' })
  const generation = await generationOf(tx, persona.owner)
  const isSide = caller === persona.owner || caller === twin.owner
  const after = [hash, twin.id, past, AFTER_HASHES]
  const rows = await tx.find(delegates, { index: 'byHolding', prefix: [hash, twin.id], limit: SLICE, after })
  const within = rows.filter(({ issue }) => issue <= issueMax)
  const shown = within.filter((row) => row.generation === generation && (isSide || !isBearerDelegate(row)))
  const next = within.length === SLICE ? within.at(-1)?.issue : undefined
  return { persona, hostname: twin.hostname, instances: shown.map(({ id }) => id), next }
}

const isBearerDelegate = ({ spend }: DelegateRow): boolean => spend !== null && 'public_secret' in spend.party

export const showVerification = ({ persona, hostname, instances }: FirstInstances) => ({
  ...describeResult(persona, instances.length),
  hostname,
  instances: [...instances],
})

/** The JSON of a verification that begins with `first`. The rest is read in slices. */
export async function* verificationText(
  first: FirstInstances,
  verification: Verification,
  { storage }: Pick<ServiceContext, 'storage'>,
): AsyncGenerator<string> {
  yield `{"hostname":${JSON.stringify(first.hostname)},"instances":[`
  let count = 0
  for (let slice = first; ; ) {
    const { instances, next } = slice
    const text = instances.map((hash) => JSON.stringify(hash)).join(',')
    if (text) yield count > 0 ? `,${text}` : text
    count += instances.length
    if (next === undefined) break
    await letOthersRun()
    slice = await storage.read((tx) => verifyPersona(tx, verification, next))
  }
  yield `],${JSON.stringify(describeResult(first.persona, count)).slice(1)}`
}

const describeResult = ({ name }: PersonaRow, count: number) =>
  count > 0
    ? { status: 200, message: `The twin holds ${count} of the requested delegates of "${name}".` }
    : { status: 404, message: `The twin holds none of the requested delegates of "${name}".` }
