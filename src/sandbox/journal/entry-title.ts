import type { Entry } from '../../base/journal.js'

/** One line of a comment: no character in it ends the comment, or hides. */
export const shown = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')

/** What an entry was, for a comment. */
export const titleOf = ({ id, method, path, status, principal }: Entry): string =>
  shown(`${id}: ${method} ${path} answered ${status} to ${principal ?? 'nobody'}`)
