/** The anchors of a page: those of its headings, as VitePress makes them, and those that a heading sets with `{#…}`. */
export function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of withoutBlocks(markdown).matchAll(/^#{1,6} (.+)$/gm)) {
    const [, own] = /\{#([^}]+)\}\s*$/.exec(heading) ?? []
    const slug = own ?? slugOf(heading)
    let unique = slug
    for (let n = 1; anchors.has(unique); n++) unique = `${slug}-${n}`
    anchors.add(unique)
  }
  return anchors
}

/** Without blocks of code, whose `#` is no heading and whose brackets are no link. */
export const withoutBlocks = (markdown: string): string => markdown.replace(/^ *```[\s\S]*?^ *```$/gm, '')

const slugOf = (heading: string): string =>
  heading
    .replaceAll('`', '')
    .normalize('NFKD')
    .replace(/[\u0300-\u036F]/g, '')
    .replace(/[\s~`!@#$%^&*()\-_+=[\]{}|\\;:"'“”‘’<>,.?/]+/g, '-')
    .replace(/^-|-$/g, '')
    .replace(/^(\d)/, '_$1')
    .toLowerCase()
