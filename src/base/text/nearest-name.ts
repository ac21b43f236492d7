import { closestMatch } from 'leven'

const MOST_NAMES = 32

/** What to say after an unknown name: ` Did you mean "users"?`, or all names. Upper case, `_` and `-` do not count. */
export function suggestName(given: string, names: readonly string[]): string {
  const near = nearestName(given, names)
  if (near !== undefined) return ` Did you mean "${near}"?`
  return names.length > 0 && names.length <= MOST_NAMES ? ` Choose from ${names.join(', ')}.` : ''
}

/** The name that an unknown one was likely meant to be. */
export function nearestName(given: string, names: readonly string[]): string | undefined {
  const byFolded = new Map(names.map((name) => [folded(name), name]))
  const sought = folded(given)
  // Two swapped letters are a distance of two.
  const maxDistance = sought.length <= 3 ? 1 : Math.max(2, Math.floor(sought.length / 3))
  return byFolded.get(closestMatch(sought, [...byFolded.keys()], { maxDistance }) ?? '')
}

const folded = (name: string): string => name.toLowerCase().replace(/[_-]/g, '')
