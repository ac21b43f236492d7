/** A text that a user consents to, of at most 2,000 characters with its title. */
export interface EmbedConsent {
  readonly title: string
  readonly text: string
}

const MAX_CONSENTS = 20
const MAX_LENGTH = 2000

/**
 * Parses the consents of a page: JSON of a text, of `{title, text}` or of an array of them, or plain text. Anything
 * else is ignored, and so is everything beyond 20 texts or 2,000 characters.
 */
export function consentsOf(sent: string | undefined): EmbedConsent[] {
  const asked = parse(sent)
  return (Array.isArray(asked) ? asked : [asked])
    .map(consentOf)
    .filter(({ title, text }) => title !== '' || text !== '')
    .slice(0, MAX_CONSENTS)
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
  const heading = trimmedText(title).slice(0, MAX_LENGTH - 1)
  // Leaves room for the line break between title and text.
  return { title: heading, text: trimmedText(text).slice(0, MAX_LENGTH - 1 - heading.length) }
}

const trimmedText = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')
