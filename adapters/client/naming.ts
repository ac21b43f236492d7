/**
 * The one rule of the client's names. The id of an operation begins with a verb, and its noun follows. The noun in the
 * plural names the group, and the verb names the method: `createPayment` is `payments.create`.
 *
 * - A noun of which there is only one keeps its form: `readHealth` is `health.read`.
 * - A preposition belongs to the verb, as does a phrase with "by" at the end: `signInAsUser` is `users.signInAs`, and
 *   `deleteSessionById` is `sessions.deleteById`.
 * - An earlier version of an operation ends in its name: `createTwin_v2` is `twins.create_v2`.
 *
 * The functions and the types below say the same.
 */

/** The last words of nouns that have no plural here. */
const uncounted = [
  'Billing',
  'Clock',
  'Configuration',
  'Coverage',
  'Health',
  'Ledger',
  'Mapping',
  'Mcp',
  'Openapi',
  'Outbox',
  'Paywall',
  'Profile',
  'Sandbox',
  'Snapshot',
  'Userinfo',
  'Work',
] as const

const prepositions = ['As', 'In', 'On'] as const
const parts = new RegExp(`^([a-z]+(?:(?:${prepositions.join('|')})(?=[A-Z]))*)([A-Z]\\w*?)(By[A-Z][A-Za-z]*)?(_v\\d)?$`)
const one = new RegExp(`(?:${uncounted.join('|')})$`)

/** The group and the method of an operation. Throws a TypeError if its id is not a verb and a noun. */
export function nameOf(id: string): { readonly group: string; readonly method: string } {
  const [, verb, noun, by = '', version = ''] = parts.exec(id) ?? []
  if (!verb || !noun) throw new TypeError(`The id of an operation must be a verb and a noun, not "${id}".`)
  return { group: noun.charAt(0).toLowerCase() + plural(noun).slice(1), method: verb + by + version }
}

function plural(noun: string): string {
  if (one.test(noun) || noun.endsWith('s')) return noun
  return /[^e]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`
}

type Uncounted = (typeof uncounted)[number]
type Preposition = (typeof prepositions)[number]
type IsCapital<Letter extends string> = Letter extends Lowercase<Letter> ? false : true

/** `[verb, the rest]`. */
type SplitAtNoun<Id extends string, Verb extends string = ''> = Id extends `${infer Letter}${infer Rest}`
  ? IsCapital<Letter> extends true
    ? WithPrepositions<Verb, Id>
    : SplitAtNoun<Rest, `${Verb}${Letter}`>
  : never

type WithPrepositions<Verb extends string, Rest extends string> = Rest extends `${Preposition}${infer Noun}`
  ? Noun extends `${infer Letter}${string}`
    ? IsCapital<Letter> extends true
      ? Rest extends `${infer Word}${Noun}`
        ? WithPrepositions<`${Verb}${Word}`, Noun>
        : never
      : [Verb, Rest]
    : never
  : [Verb, Rest]

/** `[noun, by, version]`. */
type SplitNoun<Rest extends string> = Rest extends `${infer Before}_v${infer Digit}`
  ? [...SplitBy<Before>, `_v${Digit}`]
  : [...SplitBy<Rest>, '']

type SplitBy<Rest extends string> = Rest extends `${infer Noun}By${infer Phrase}` ? [Noun, `By${Phrase}`] : [Rest, '']

type Plural<Noun extends string> = Noun extends `${string}${Uncounted}` | `${string}s`
  ? Noun
  : Noun extends `${string}ey`
    ? `${Noun}s`
    : Noun extends `${infer Start}y`
      ? `${Start}ies`
      : `${Noun}s`

/** `[group, method]` of an operation. */
export type NameOf<Id extends string> =
  SplitAtNoun<Id> extends [infer Verb extends string, infer Rest extends string]
    ? SplitNoun<Rest> extends [infer Noun extends string, infer By extends string, infer Version extends string]
      ? [Uncapitalize<Plural<Noun>>, `${Verb}${By}${Version}`]
      : never
    : never
