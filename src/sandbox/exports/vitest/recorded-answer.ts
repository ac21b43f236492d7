import { Problem, problem } from '../../../base/problem.js'
import type { Entry } from '../../onion/entry.js'

/** The JSON of an answer. Undefined if there is none, or if it is not whole. */
export function bodyOfAnswer({ method, response }: Entry): unknown {
  if (method === 'HEAD' || response.body === null || response.cut) return undefined
  try {
    return JSON.parse(response.body)
  } catch {
    return undefined
  }
}

/** A refusal that names the entry of a range too. */
export function ofEntry({ id }: Entry, refusal: unknown): unknown {
  if (!(refusal instanceof Problem) || refusal.code !== 'not_replayable' || 'id' in refusal.fields) return refusal
  return problem('not_replayable', {
    detail: `${refusal.facts.detail} The entry is ${id}.`,
    fields: { ...refusal.fields, id },
    cause: refusal,
  })
}
