import { HIDDEN } from '../../base/text/redacted.js'
import { isVisible, visibleLine } from '../../base/text/visible.js'
import { type CallDraft, filledTemplate, type Template } from '../replay/call-draft.js'

/** A call whose parts are visible lines, as a command or a request file can hold them. */
export interface WritableCall extends Pick<CallDraft, 'method' | 'path' | 'headers' | 'body'> {
  /** Whether its body is JSON, in which every character may be an escape. */
  readonly isJson: boolean
}

/** The call in that form: the same request. Or the sentence why it has none. */
export function writableCall({ method, path, headers, body }: CallDraft): WritableCall | string {
  if (!/^[A-Z]{1,20}$/.test(method)) return 'Its method has no form in such a file.'
  const [first] = path
  if (typeof first !== 'string' || !first.startsWith('/')) return 'Its path has no form in such a file.'
  for (const [name, value] of Object.entries(headers))
    if (!/^[a-z][\w-]*$/.test(name) || !isVisible(value)) return 'One of its headers has no form in such a file.'
  const text = body === null ? '' : filledTemplate(body, () => HIDDEN)
  const isJson = isJsonText(text)
  if (!isJson && !isVisible(text)) return 'Its body has no form in such a file.'
  return {
    ...{ method, headers, isJson },
    path: path.map(inText(encodedPath)),
    // Between the parts of JSON, line breaks and tabs are only spaces, and in its texts any escape means its character.
    body: body && isJson ? body.map(inText((part) => visibleLine(part.replace(/[\n\r\t]/g, ' ')))) : body,
  }
}

const inText =
  (written: (text: string) => string) =>
  (part: Template[number]): Template[number] =>
    typeof part === 'string' ? written(part) : part

/** What can be seen stays as it was sent: an escape is another address. */
const encodedPath = (text: string): string =>
  text.toWellFormed().replace(/[^\x21-\x7e]/gu, (character) => encodeURIComponent(character))

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
