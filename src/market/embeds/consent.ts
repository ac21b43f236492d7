/** Something that a reader is asked to consent to: at most 2,000 characters with its title. */
export interface EmbedConsent {
  readonly title: string
  readonly text: string
}

const MOST = 20
const LONGEST = 2000

/**
 * What a page asks consent for (clients.md 9): JSON of a text, of `{title, text}`, or of an array of either, or a bare text.
 * What is neither is dropped, and so is what goes beyond 20 or 2,000 characters.
 */
export function consentsOf(sent: string | undefined): EmbedConsent[] {
  const asked = parse(sent)
  return (Array.isArray(asked) ? asked : [asked])
    .map(consentOf)
    .filter(({ title, text }) => title !== '' || text !== '')
    .slice(0, MOST)
}

function parse(sent: string | undefined): unknown {
  if (sent === undefined) return undefined
  try {
    return JSON.parse(sent)
  } catch {
    return sent
  }
}

function consentOf(asked: unknown): EmbedConsent {
  const { title, text }: { title?: unknown; text?: unknown } =
    typeof asked === 'object' && asked !== null ? asked : { text: asked }
  const heading = textOf(title).slice(0, LONGEST - 1)
  // With the line break between them.
  return { title: heading, text: textOf(text).slice(0, LONGEST - 1 - heading.length) }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')
