import { redactHeader } from '../../src/sandbox/journal/redact.js'
import { bodyText, type Message } from './fields.js'

/** A message as text, for whoever asked for it. What signs it stays hidden. */
export function writtenMessage(firstLine: string, message: Message): string {
  const headers = Object.entries(message.headers).map(
    ([name, value]) => `${name}: ${redactHeader(name, String(value))}`,
  )
  return [firstLine, ...headers, '', bodyText(message) ?? ''].join('\n').trimEnd()
}
