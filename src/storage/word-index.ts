import type { Retention } from './retention.js'
import { type Collection, collection, type Reader, type Writer } from './storage.js'

/** Which of 128 neighbouring ids have a word. One row for many ids keeps the index small, and shows the newest first. */
export interface WordRow {
  /** The word, a space and the block. */
  readonly id: string
  readonly word: string
  /** The ids divided by 128, rounded down. */
  readonly block: number
  /** Ascending. */
  readonly ids: readonly number[]
}

const BLOCK = 128

export type WordIndex = Collection<WordRow, 'byWord'>

/** Declares an index of words by which rows with numeric ids are found. */
export const wordIndex = (name: string, until: string): WordIndex => {
  const retention: Retention<WordRow> = { until }
  return collection<WordRow>()(
    name,
    { byWord: { fields: ['word', 'block'] } },
    {
      retention,
      growth: {
        by: 'whoever writes what is listed',
        bound: 'One for each word and 128 listed rows that have it. A listed text is short.',
      },
    },
  )
}

/** Longer words are cut, so that a text cannot fill the index. */
const LONGEST_WORD = 32

/** The words of a text in lower case. In scripts without spaces, each character is a word. */
export function wordsOf(text: string): string[] {
  const words = text
    .toLowerCase()
    .match(
      /[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+?(?=[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]|[^\p{L}\p{N}\p{M}]|$)/gu,
    )
  return [...new Set((words ?? []).map((word) => word.slice(0, LONGEST_WORD)))]
}

/** Makes an id findable by the words `after` instead of the words `before`. */
export async function reindex(
  tx: Writer,
  index: WordIndex,
  { id, before, after }: { readonly id: number; readonly before: readonly string[]; readonly after: readonly string[] },
): Promise<void> {
  const block = Math.floor(id / BLOCK)
  const added = after.filter((word) => !before.includes(word))
  const changed = [...added, ...before.filter((word) => !after.includes(word))]
  if (changed.length === 0) return
  const rows = await tx.getMany(
    index,
    changed.map((word) => rowId(word, block)),
  )
  for (const [i, word] of changed.entries()) {
    const others = rows[i]?.ids.filter((other) => other !== id) ?? []
    const ids = i < added.length ? [...others, id].sort((a, b) => a - b) : others
    if (ids.length > 0) tx.put(index, { id: rowId(word, block), word, block, ids })
    else tx.remove(index, rowId(word, block))
  }
}

const rowId = (word: string, block: number): string => `${word} ${block}`

/** How many rows a search reads for one word, and with how many words of the index that begin with it. */
const ROWS_PER_WORD = 400
const WORDS_PER_PREFIX = 16

/** The highest ids that have a word beginning with `prefix`. It reads a bounded number of rows. */
export async function idsWithWord(tx: Reader, index: WordIndex, prefix: string): Promise<Set<number>> {
  const sought = prefix.slice(0, LONGEST_WORD)
  const found = new Set<number>()
  let left = ROWS_PER_WORD
  let after: [string, number, string] = [sought, -1, '']
  for (let n = 0; n < WORDS_PER_PREFIX && left > 0; n++) {
    const [next] = await tx.find(index, { index: 'byWord', prefix: [], after, limit: 1 })
    if (!next?.word.startsWith(sought)) break
    const rows = await tx.find(index, { index: 'byWord', prefix: [next.word], limit: left, reverse: true })
    for (const { ids } of rows) for (const id of ids) found.add(id)
    left -= rows.length
    after = [next.word, Number.MAX_SAFE_INTEGER, '']
  }
  return found
}
