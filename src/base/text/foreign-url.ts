/** Parsing a host sorts the marks on its letters, in steps that grow with its square. No host is as long. */
const MOST_BEFORE_PATH = 2048

/** Scheme and host, up to what ends a host for certain. */
const HOST = /^[a-z][a-z\d+.-]*:[/\\]{0,2}[^/\\?#\s\p{Cc}]+[/\\?#]/iu

/** The URL that a text of others is, in steps that grow as the text does. Undefined if it is none, or its host is too long. */
export function parsedUrl(text: string): URL | undefined {
  if (text.length > MOST_BEFORE_PATH && !HOST.test(text.slice(0, MOST_BEFORE_PATH))) return undefined
  return URL.canParse(text) ? new URL(text) : undefined
}
