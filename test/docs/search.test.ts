import { readdirSync } from 'node:fs'
import MiniSearch, { type SearchOptions } from 'minisearch'
import { expect, test } from 'vitest'
import site from '../../docs/.vitepress/config.js'
import { routeList } from '../../scripts/route-table.js'
import { searchDocs } from '../../src/sandbox/tools/docs-search.js'
import { readPage } from '../support/docs/markdown.js'
import { reference } from '../support/docs/reference.js'

/** What people look for, and the guide that they mean. */
const queries = [
  ['fund a wallet', 'funding'],
  ['cors', 'reach'],
  ['webhook', 'webhooks'],
  ['refund', 'cards'],
  ['sign in', 'signing-in'],
  ['postgres', 'postgresql'],
  ['idempotency', 'retries'],
] as const

/** The index is made once for each table of routes. */
const routes = routeList.map((route) => ({ ...route }))

test.each(queries)('the tool docs_search finds the guide for "%s" first', (query, guide) => {
  const [first] = searchDocs(query, { limit: 5, routes, service: { baseUrl: 'http://127.0.0.1:4242' } })
  expect(first).toMatchObject({ kind: 'guide', at: `docs/guides/${guide}.md` })
})

/** The pages of the site by their paths: all that the reader may find. */
function pages(): Map<string, string> {
  const written = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.md') && !/^(\.vitepress|reference)\b/.test(name),
  )
  return new Map([
    ...written.map((path) => [path, readPage(`docs/${path}`)] as const),
    ...[...reference()].map(([path, text]) => [`reference/${path}`, text] as const),
  ])
}

const { search } = site.themeConfig ?? {}
const options = search?.provider === 'local' ? search.options?.miniSearch : undefined

/** As VitePress makes it, of the parts of each page with the titles above them. */
function siteIndex() {
  const fields = ['title', 'titles', 'text']
  const index = new MiniSearch({ fields, storeFields: ['title', 'titles'], ...options?.options })
  for (const [path, page] of pages()) {
    const above: string[] = []
    page.split(/^(?=#{1,6} )/m).forEach((part, i) => {
      const [, marks = '', title = ''] = /^(#+) (.*)$/m.exec(part) ?? []
      if (marks === '') return
      above.length = marks.length - 1
      above[marks.length - 1] = title
      const id = `/${path.replace(/\.md$/, '')}#${i}`
      index.add({ id, title, titles: above.slice(0, -1).filter(Boolean), text: part.replace(/^#.*$/m, '') })
    })
  }
  return index
}

const shared = siteIndex()
const defaults: SearchOptions = { fuzzy: 0.2, prefix: true, boost: { title: 4, text: 2, titles: 1 } }

test.each(queries)('the search of the site finds the guide for "%s" first', (query, guide) => {
  const found = shared.search(query, { ...defaults, ...options?.searchOptions }).slice(0, 5)
  const shown = found.map(({ id, title, score }) => `${id} ${title} ${score.toFixed(0)}`)
  expect(shown, shown.join('\n')).toEqual([expect.stringMatching(new RegExp(`^/guides/${guide}#`)), ...shown.slice(1)])
})
