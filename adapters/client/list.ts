import type { ItemOf, List } from './interface.js'

type Fields = Readonly<Record<string, unknown>>
type Page = Readonly<Record<string, unknown>>

/** A list whose pages `read` reads, from these fields on. `by` is the field that asks for the next page. */
export function listOf(fields: Fields, by: 'after' | 'offset', read: (fields: Fields) => Promise<unknown>): List<Page> {
  const page = async (of: Fields) => (await read(of)) as Page // A list answers with an object.
  let first: Promise<Page> | undefined
  const readFirst = () => {
    first ??= page(fields)
    return first
  }
  async function* pages() {
    const nextOf = by === 'after' ? fieldsAfter : fieldsBehind
    for (let next: Fields | undefined = fields; next; ) {
      const got: Page = await page(next)
      yield got
      next = nextOf(next, got)
    }
  }
  return {
    // biome-ignore lint/suspicious/noThenProperty: `await` reads one page.
    then: (...handlers) => readFirst().then(...handlers),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const each of pages()) yield* itemsOf(each) as ItemOf<Page>[]
    },
  }
}

/** The only array of a page. */
export const itemsOf = (page: object): unknown[] => Object.values(page).find(Array.isArray) ?? []

/** The fields of the next page of a list with a cursor. A strict service shows none, and has one page. */
const fieldsAfter = (fields: Fields, { next }: Page): Fields | undefined =>
  next === undefined || next === null ? undefined : { ...fields, after: next }

/** The fields of the next page of a list with an offset. Without a total, the list ends with an empty page. */
function fieldsBehind(fields: Fields, page: Page): Fields | undefined {
  const count = itemsOf(page).length
  const offset = Number(fields.offset ?? 0) + count
  return count > 0 && !(offset >= Number(page.total)) ? { ...fields, offset } : undefined
}
