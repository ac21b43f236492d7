import fc from 'fast-check'

/** JSON that somebody has changed in one place after another. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

/** The paths of every value in a body. */
function pathsIn(value: Json, path: string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [path]
  return [path, ...Object.entries(value).flatMap(([name, each]) => pathsIn(each as Json, [...path, name]))].slice(
    path.length === 0 ? 1 : 0,
  )
}

function valueAt(body: Json, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((value, name) => (value as Record<string, Json> | undefined)?.[name], body)
}

/** The body with another value in one place. Undefined removes it. */
function changed(body: Json, [name = '', ...rest]: readonly string[], value: Json | undefined): Json {
  const copy = Array.isArray(body) ? [...body] : { ...(body as Record<string, Json>) }
  const holder = copy as Record<string, Json>
  if (rest.length > 0) holder[name] = changed(holder[name] as Json, rest, value)
  else if (value === undefined) delete holder[name]
  else holder[name] = value
  return copy as Json
}

const oddTexts = ['', '0', '-1', '1e3', '10001', '0x', `0x${'00'.repeat(65)}`, `0x${'ff'.repeat(65)}`, `${2n ** 256n}`]
const oddValues: (Json | undefined)[] = [undefined, null, true, 0, -1, 1.5, 2 ** 53, [], {}, ['0x'], { a: { b: [] } }]

/** What becomes of a text: one character of it changes, it is cut, doubled, or spelled in another case. */
function bent(text: string, { at, how, digit }: { at: number; how: number; digit: string }): string {
  const place = text.length === 0 ? 0 : at % text.length
  if (how === 0) return text.slice(0, place) + digit + text.slice(place + 1)
  if (how === 1) return text.slice(0, place)
  if (how === 2) return text + text
  return how === 3 ? text.toUpperCase() : text.toLowerCase()
}

/** A change of one place. */
export const change = fc.record({
  path: fc.nat(),
  kind: fc.constantFrom('bend', 'bend', 'bend', 'text', 'value', 'swap'),
  at: fc.nat(),
  how: fc.nat(4),
  digit: fc.constantFrom(...'0123456789abcdefg"\u0000é'),
  text: fc.constantFrom(...oddTexts),
  value: fc.constantFrom(...oddValues),
})

type Change = typeof change extends fc.Arbitrary<infer C> ? C : never

/** The body after a change. */
export function apply(body: Json, { path: number, kind, text, value, ...bending }: Change): Json {
  const paths = pathsIn(body)
  const path = paths[number % paths.length] ?? []
  const old = valueAt(body, path)
  if (kind === 'swap') return changed(body, path, valueAt(body, paths[bending.at % paths.length] ?? []))
  if (kind === 'value') return changed(body, path, value)
  return changed(body, path, kind === 'bend' && typeof old === 'string' ? bent(old, bending) : text)
}
