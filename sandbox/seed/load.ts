import { describeFault } from '../../src/http/fields/field.js'
import type { Seed } from '../../src/sandbox/controls/seed/seed-content.js'
import { SeedSchema } from '../../src/sandbox/controls/seed/seed-schema.js'
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
export function checkSeed(place: string, document: unknown): Seed {
  const fault = describeFault(SeedSchema, document)
  if (fault !== undefined) throw new Refusal(`${place}: ${fault}`)
  return SeedSchema.parse(document)
}
