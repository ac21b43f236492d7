import { posix } from 'node:path'
import { anchorsOf, withoutBlocks } from './anchors.js'

/** A page without its code. */
export const proseOf = (markdown: string): string => withoutBlocks(markdown).replace(/`[^`\n]*`/g, '')

/** The relative links of pages, by their paths, to a file that is not there or to a part that its page does not have. */
export function deadLinks(pages: ReadonlyMap<string, string>, isThere: (path: string) => boolean): string[] {
  const anchors = new Map<string, Set<string>>()
  const hasPart = (path: string, part: string): boolean => {
    const page = pages.get(path)
    if (page === undefined) return false
    const known = anchors.get(path) ?? anchorsOf(page)
    anchors.set(path, known)
    return known.has(part)
  }
  return [...pages].flatMap(([path, text]) =>
    [...proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, link = '']) => {
      if (/^[a-z]+:/i.test(link)) return []
      const [file = '', part] = link.split('#')
      const to = file === '' ? path : posix.join(posix.dirname(path), file)
      return isThere(to) && (part === undefined || hasPart(to, part)) ? [] : [`${path}: ${link}`]
    }),
  )
}
