/** Attributes that name what a page loads by itself, by tag. */
const loaded: Record<string, string> = { script: 'src', link: 'href', img: 'src' }

/** Links that a browser follows without a click. */
const LOADED_LINK = /^(stylesheet|modulepreload|preload|icon|manifest)$/i

/** The URLs of the scripts, styles, images and other files that the HTML of a page loads. `url` is where the page is. */
export function namedFiles(html: string, url: string): string[] {
  const text = html.replace(/<!--[\s\S]*?-->/g, '').replace(/(<script\b[^>]*>)[\s\S]*?<\/script>/gi, '$1')
  const base = new URL(attributesOf(/<base\b([^>]*)>/i.exec(text)?.[1]).href ?? '', url)
  return [...text.matchAll(/<(script|link|img)\b([^>]*)>/gi)].flatMap(([, tag = '', given]) => {
    const attributes = attributesOf(given)
    const named = attributes[loaded[tag.toLowerCase()] ?? '']
    const isLoaded = tag.toLowerCase() !== 'link' || attributes.rel?.split(/\s+/).some((rel) => LOADED_LINK.test(rel))
    if (!named || !isLoaded || !URL.canParse(named, base.href)) return []
    const file = new URL(named, base)
    file.hash = ''
    return /^https?:$/.test(file.protocol) ? [file.href] : []
  })
}

function attributesOf(text = ''): Record<string, string | undefined> {
  const found = text.matchAll(/([\w-]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/g)
  return Object.fromEntries(
    [...found].map(([, name = '', ...values]) => [
      name.toLowerCase(),
      values.find((value) => value !== undefined)?.replaceAll('&amp;', '&'),
    ]),
  )
}
