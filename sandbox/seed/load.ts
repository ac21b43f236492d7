import { type Seed, SeedSchema } from '../../src/sandbox/controls/seed/seed-schema.js'
import { parseDocument, readText } from '../document.js'
import { Refusal } from '../refusal.js'
import { demo } from './demo.js'

/** Loads the seed that a setting names: a file, `demo`, `none`, or a seed that is already checked. Throws `Refusal`. */
export async function loadSeed(seed: string | Seed): Promise<Seed> {
  if (typeof seed !== 'string') return seed
  if (seed === 'demo') return demo.seed
  if (seed === 'none') return {}
  return checkSeed(seed, await parseDocument(seed, await readText(seed)))
}

/** Checks a document against the schema of seeds. Throws `Refusal`, which names the wrong field. */
export async function checkSeed(place: string, document: unknown): Promise<Seed> {
  const { success, data } = SeedSchema.safeParse(document)
  if (!success) {
    const { default: english } = await import('zod/v4/locales/en.js')
    const { error } = SeedSchema.safeParse(document, { error: english().localeError })
    const [issue] = error?.issues ?? []
    throw new Refusal(`${place}: ${[pathOf(issue?.path ?? []), issue?.message].filter(Boolean).join(': ')}`)
  }
  const unknown = findUnknownField(document, data, [])
  if (unknown) throw new Refusal(`${place}: ${pathOf(unknown)} is not a field of a seed`)
  return data
}

/** Returns the path of the first field that the schema does not know. */
function findUnknownField(
  given: unknown,
  taken: unknown,
  path: readonly PropertyKey[],
): readonly PropertyKey[] | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  for (const [name, value] of Object.entries(given)) {
    const inner = [...path, Array.isArray(given) ? Number(name) : name]
    if (!holds(taken) || !Object.hasOwn(taken, name)) return inner
    const found = findUnknownField(value, taken[name], inner)
    if (found) return found
  }
  return undefined
}

/** Lists hold their parts under numbers. */
const holds = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** `accounts[0].balance` */
const pathOf = (path: readonly PropertyKey[]): string =>
  path.map((part, at) => (typeof part === 'number' ? `[${part}]` : `${at > 0 ? '.' : ''}${String(part)}`)).join('')
