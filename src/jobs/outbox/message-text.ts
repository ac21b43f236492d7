import type { OutboxRow } from '../../base/message.js'

/** Returns the codes of six digits in the text of a message. */
export const codesIn = ({ kind, text }: OutboxRow): string[] =>
  // An amount is not a code.
  isOfCard(kind) ? [] : (text.replace(LINK, '').match(/\b\d{6}\b/g) ?? [])

/** Returns the URLs in the text of a message. */
export const linksIn = ({ text }: OutboxRow): string[] => text.match(LINK) ?? []

export const isOfCard = (kind: OutboxRow['kind']): boolean => kind === 'card' || kind === 'refund'

/** Excludes punctuation at the end of a URL. */
const LINK = /https?:\/\/\S*[^\s.,;:!?)>\]"']/g
