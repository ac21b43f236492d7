import type { Reader } from '../storage/storage.js'
import type { ServiceContext } from './context.js'
import { Reply } from './reply.js'
import type { Call } from './route.js'

const SLICE = 100

interface Page {
  readonly next: number | null
}

interface ListCall {
  readonly name: string
  /** Its query is that of the call, with the bounds of a page. */
  readPage(tx: Reader, call: Call, service: ServiceContext): Promise<unknown>
  readonly tx: Reader
  readonly call: Call
  readonly service: ServiceContext
}

/** Reads the page that the query asks for, else every row: a long list in slices, while it is sent. */
export async function readWholeList({ name, readPage, tx, call, service }: ListCall): Promise<unknown> {
  const query = call.query as { readonly limit?: number; readonly after?: number }
  if (query.limit !== undefined || query.after !== undefined) return readPage(tx, call, service)
  const slice = async (reader: Reader, after?: number): Promise<Page> =>
    // A row may be removed between two slices, also the last of one.
    (await readPage(reader, { ...call, query: { ...query, limit: SLICE, after, goesOn: true } }, service)) as Page
  const first = await slice(tx)
  if (first.next === null) return first
  return new Reply({ text: (show) => listText(first, { name, pages: pagesAfter(first), show }) })

  async function* pagesAfter({ next }: Page): AsyncGenerator<object> {
    for (let after = next; after !== null; ) {
      const from = after
      const page = await service.storage.read((reader) => slice(reader, from))
      yield page
      after = page.next
    }
  }
}

interface ShownPages {
  readonly name: string
  readonly pages: AsyncIterable<unknown>
  show(page: unknown): unknown
}

/** The JSON of a page and of those that follow it, as one page. */
async function* listText(first: Page, { name, pages, show }: ShownPages): AsyncGenerator<string> {
  const { [name]: rows, ...rest } = show(first) as Record<string, unknown>
  const shown = rowsText(rows)
  let hasRows = shown !== ''
  yield `{${JSON.stringify(name)}:[${shown}`
  for await (const page of pages) {
    const more = rowsText((show(page) as Record<string, unknown>)[name])
    // A page may be empty, the first one too.
    if (more) yield hasRows ? `,${more}` : more
    hasRows ||= more !== ''
  }
  const end = JSON.stringify('next' in rest ? { ...rest, next: null } : rest)
  yield end === '{}' ? ']}' : `],${end.slice(1)}`
}

const rowsText = (rows: unknown): string => JSON.stringify(rows).slice(1, -1)
