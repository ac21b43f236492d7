import type { Owner } from '../../base/owner.js'
import { problem } from '../../base/problem.js'
import { contentHash, randomHex } from '../../base/secrets.js'
import { seconds } from '../../base/time.js'
import type { ServiceContext } from '../../http/context.js'
import { twins } from '../../money/twins/twin.js'
import { countedDaily } from '../../storage/growth.js'
import { getOrNotFound } from '../../storage/page.js'
import { collection, type Reader, type Writer } from '../../storage/storage.js'

/** An identity, anchored to a twin, that gives delegates to others. The id is its hash. */
export interface PersonaRow {
  readonly id: string
  /** Ascending number, in the order of creation. */
  readonly number: number
  readonly name: string
  readonly description: string | null
  readonly twin_id: number
  readonly owner: Owner
  readonly hostname: string
  /** How many delegates it has given so far, including revoked ones. */
  readonly issued: number
  readonly created_at: number
}

export const personas = collection<PersonaRow>()(
  'personas',
  { byOwner: { fields: ['owner', 'number'] } },
  {
    refs: { twin_id: 'twins' },
    growth: countedDaily('an account or user, by createPersona'),
    retention: { forever: 'Delegates name it.' },
  },
)

export interface NewPersona {
  readonly owner: Owner
  readonly name: string
  readonly description?: string | null | undefined
  readonly twinId: number
  readonly at: number
}

/** Creates a persona that is anchored to a twin of the owner. Throws `twin_unknown` for any other twin. */
export async function createPersona(
  tx: Writer,
  { owner, name, description, twinId, at }: NewPersona,
  { random }: ServiceContext,
) {
  const twin = await tx.get(twins, twinId)
  if (twin?.owner !== owner) throw problem('twin_unknown')
  const row: PersonaRow = {
    id: contentHash({ owner, twin: twin.address, name, salt: randomHex(random, 16) }),
    number: await tx.nextId('personas'),
    name,
    description: description ?? null,
    twin_id: twin.id,
    owner,
    hostname: twin.hostname,
    issued: 0,
    created_at: at,
  }
  tx.put(personas, row)
  return showPersona(row)
}

export const personaOf = (tx: Reader, hash: string): Promise<PersonaRow> => getOrNotFound(tx, personas, hash)

/** The owner's persona with this hash. Throws `not_found`, `not_owner`. */
export async function ownPersona(tx: Reader, owner: Owner, hash: string): Promise<PersonaRow> {
  const row = await personaOf(tx, hash)
  if (row.owner !== owner) throw problem('not_owner')
  return row
}

export const showPersona = ({ id: hash, name, description, hostname, created_at }: PersonaRow) => ({
  ...{ hash, name, description, hostname, created_at: seconds(created_at) },
})
