import { visibleLine } from '../../base/text/visible.js'
import type { Entry } from '../onion/entry.js'

/** What an entry was, for a comment: a visible line. */
export const titleOf = ({ id, method, path, status, principal }: Entry): string =>
  visibleLine(`${id}: ${method} ${path} answered ${status} to ${principal ?? 'nobody'}`)
