import { problem } from '../../base/problem.js'
import { suggestName } from '../../base/text/nearest-name.js'
import { eventTypes } from './event-types.js'

const types: readonly string[] = Object.keys(eventTypes)
const groups: readonly string[] = [
  ...new Set([...types.flatMap((type) => (type.includes('.') ? [`${type.split('.')[0]}.*`] : [])), 'client.*']),
]

/** The type of an event that a client wrote. */
const clientType = /^client(\.[a-z0-9_-]+)+$/

/** Checks patterns of event types: a type, `payment.*` or `*`. Throws `field_invalid`, which names the field. */
export function checkEventPatterns(patterns: readonly string[]): void {
  for (const [i, pattern] of patterns.entries()) {
    if (pattern === '*' || types.includes(pattern) || groups.includes(pattern) || clientType.test(pattern)) continue
    const field = `events.${i}`
    const hint = suggestName(pattern, [...types, ...groups])
    throw problem('field_invalid', {
      detail: `"${field}" must be a type of event, a group such as "payment.*", or "*".${hint}`,
      fields: { field },
    })
  }
}

/** Whether one of the patterns names this type. */
export const matchesPattern = (patterns: readonly string[], type: string): boolean =>
  patterns.some(
    (pattern) =>
      pattern === '*' || pattern === type || (pattern.endsWith('.*') && type.startsWith(pattern.slice(0, -1))),
  )
