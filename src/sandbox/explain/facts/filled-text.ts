import type { Reader } from '../../../storage/storage.js'
import type { FactsByName } from './explanation.js'
import { REDACTED } from './refused-request.js'
import { endText, listText, ownerText, plural } from './words.js'

/**
 * Fills texts with facts, and leaves out those of which a fact is unknown. `{name}` and `{name.part}` stand for a fact,
 * `{count payment}` for a number of payments, `{=name}` for JSON, `{#name}` for an owner without its name, `{@name}` for a time that is over or to come, `{?name}` and `{!name}` for nothing if the fact is so or is not, and
 * `[…]` encloses what only is there if its facts are.
 */
export async function filledTexts(texts: readonly string[], facts: FactsByName, tx: Reader): Promise<string[]> {
  const filled = texts.map(async (text) => {
    const parts = await Promise.all(text.split(/\[([^[\]]*)\]/).map((part) => filledPart(part, facts, tx)))
    // What is optional is at the odd places.
    return parts.some((part, i) => part === undefined && i % 2 === 0) ? '' : parts.join('').trim()
  })
  return (await Promise.all(filled)).filter((text) => text !== '')
}

async function filledPart(text: string, facts: FactsByName, tx: Reader): Promise<string | undefined> {
  let filled = ''
  for (const [i, part] of text.split(/\{([^{}]*)\}/).entries()) {
    const shown = i % 2 === 0 ? part : await factText(part, facts, tx, filled.endsWith('`') ? '`' : '')
    if (shown === undefined) return undefined
    filled += shown
  }
  return filled
}

/** `tick`: what encloses each part of a list. */
async function factText(place: string, facts: FactsByName, tx: Reader, tick: string) {
  const [, sign, name = '', noun] = /^([?!=@#]?)([\w.]+)(?: (.+))?$/.exec(place) ?? []
  const fact = name
    .split('.')
    .reduce<unknown>((value, part) => (value as FactsByName | null | undefined)?.[part], facts)
  if (sign === '?' || sign === '!')
    return (isKnown(fact) && fact !== false && fact !== 0) === (sign === '?') ? '' : undefined
  if (sign === '=') return fact === undefined || fact === null ? undefined : valueText(fact)
  if (noun !== undefined && Array.isArray(fact)) return plural(fact.length, noun)
  if (!isKnown(fact)) return undefined
  if (sign === '#') return String(fact)
  if (sign === '@') return endText(timeOf(fact), timeOf(facts.at))
  if (noun !== undefined) return plural(Number(fact), noun)
  if (!Array.isArray(fact)) return wordsOf(fact, tx)
  return listText(await Promise.all(fact.map((each) => wordsOf(each, tx))), tick)
}

const isKnown = (fact: unknown): boolean =>
  fact !== undefined && fact !== null && fact !== '' && !(Array.isArray(fact) && fact.length === 0)

async function wordsOf(fact: unknown, tx: Reader): Promise<string> {
  if (typeof fact !== 'string') return JSON.stringify(fact)
  return /^(account|user):\d+$/.test(fact) ? ownerText(tx, fact) : fact
}

const valueText = (value: unknown): string =>
  value === REDACTED ? 'a value that the journal does not keep' : JSON.stringify(value)

/** A time as `timeText` or ISO 8601 writes it. */
const timeOf = (time: unknown): number => Date.parse(String(time).replace(' UTC', 'Z').replace(' ', 'T'))
