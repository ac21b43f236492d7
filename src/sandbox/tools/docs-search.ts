import MiniSearch, { type SearchResult } from 'minisearch'
import guides from '../../../docs/guides?files'
import { docsOf, type ProblemCode, problemCodes, problemSentence } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { errorText } from '../../http/error-pages/error-texts.js'
import type { SandboxParts } from '../onion/context.js'
import { cutText } from './sandbox-tool.js'

export interface FoundDocs {
  readonly kind: 'operation' | 'error' | 'guide'
  /** `createPayment`, `nonce_used`, or the title of a guide with the title of its part. */
  readonly title: string
  readonly text: string
  /** Where it is: a method and a path, a page of this service, or a file of the documentation. */
  readonly at: string
}

type Route = Awaited<ReturnType<SandboxParts['loadRoutes']>>[number]
type SearchedOperation = Pick<Route, 'id' | 'method' | 'path' | 'versions' | 'summary'>

interface Docs extends FoundDocs {
  readonly id: number
  /** What else it is found by. */
  readonly more: string
}

interface Searching {
  readonly limit: number
  readonly routes: readonly SearchedOperation[]
  readonly service: Pick<ServiceContext, 'baseUrl'>
}

const LONGEST_EXCERPT = 300
const GUIDE_BOOST = 4
/** The index over one route table, which never changes. */
const indexes = new WeakMap<readonly SearchedOperation[], MiniSearch<Docs>>()

/** Searches operations, error codes and guides. Returns the best first. */
export function searchDocs(query: string, { limit, routes, service }: Searching): FoundDocs[] {
  const index = indexes.get(routes) ?? indexOf(routes)
  indexes.set(routes, index)
  const found = index.search(query)
  const isNamed = ({ title }: SearchResult) => title === query.trim()
  return [...found.filter(isNamed), ...found.filter((each) => !isNamed(each))]
    .slice(0, limit)
    .map(({ kind, title, text, at }) => ({
      ...{ kind, title, text: cutText(text, LONGEST_EXCERPT) },
      at: kind === 'error' ? docsOf(title as ProblemCode, service) : at, // the title of an error is its code
    }))
}

function indexOf(routes: readonly SearchedOperation[]): MiniSearch<Docs> {
  const index = new MiniSearch<Docs>({
    fields: ['title', 'text', 'more'],
    storeFields: ['kind', 'title', 'text', 'at'],
    searchOptions: {
      boost: { title: 4, text: 2 },
      prefix: true,
      fuzzy: 0.2,
      // A word such as "refund" is in the names of many operations and codes. Who looks for it wants to know how it works.
      boostDocument: (_, _term, stored) => (stored?.kind === 'guide' ? GUIDE_BOOST : 1),
    },
    // Names such as createPayment and nonce_used are found whole and by their words.
    tokenize: (text) => text.split(/[^\p{L}\p{N}_]+/u).flatMap((word) => [word, ...wordsOf(word)]),
  })
  const pages = Object.entries(guides).flatMap(docsOfGuide)
  const all = [...routes.map(docsOfRoute), ...problemCodes.map(docsOfCode), ...pages]
  index.addAll(all.map((each, id) => ({ ...each, id })))
  return index
}

function wordsOf(name: string): string[] {
  const words = name.split(/_|(?<=\p{Ll})(?=\p{Lu})/u)
  return words.length > 1 ? words : []
}

const docsOfRoute = ({ id, method, path, versions, summary }: SearchedOperation): Omit<Docs, 'id'> => ({
  kind: 'operation',
  title: id,
  text: summary,
  at: `${method} ${versions ? `/${versions[0]}` : ''}${path.replace(/:(\w+)/g, '{$1}')}`,
  more: path,
})

function docsOfCode(code: ProblemCode): Omit<Docs, 'id'> {
  const { meaning, causes, fixes } = errorText(code)
  const more = [problemSentence(code), ...causes, ...fixes].join(' ')
  return { kind: 'error', title: code, text: `${meaning} ${fixes[0]}`, at: '', more }
}

function docsOfGuide([name, page]: readonly [string, string]): Omit<Docs, 'id'>[] {
  const [, title = name] = /^# (.+)$/m.exec(page) ?? []
  return page.split(/^(?=## )/m).map((part) => {
    const [, own] = /^## (.+)$/m.exec(part) ?? []
    const more = part.replace(/^#+ .*$/m, '').trim()
    const text = more
      .replace(/^```[\s\S]*?^```/gm, '')
      .trim()
      .replace(/\s+/g, ' ')
    const whole = own === undefined ? title : `${title}: ${own}`
    return { kind: 'guide' as const, title: whole, text, at: `docs/guides/${name}`, more }
  })
}
