import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deadLinks, proseOf } from '../support/docs/dead-links.js'
import { pages, readPage, root } from '../support/docs/markdown.js'

/** The build has written those of the reference. */
const referencePages = readdirSync(join(root, 'docs/reference'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/reference/${name.replaceAll('\\', '/')}`)
const texts = new Map([...pages, ...referencePages].map((page) => [page, readPage(page)]))

test('every relative link of a page leads to a file, and to a part that it has', () => {
  expect(referencePages).toContain('docs/reference/errors.md')
  expect(deadLinks(texts, (path) => existsSync(join(root, path)))).toEqual([])
})

test('no page has what the site would read as a template or as an unknown element', () => {
  const read = /\{\{|<\/?(?!(?:a|br|details|div|img|kbd|p|script|summary)\b)[a-z][^>]*>/gi
  const found = [...texts].flatMap(([page, text]) =>
    [...proseOf(text).matchAll(read)].map(([what]) => `${page}: ${what}`),
  )
  expect(found).toEqual([])
})
