/** The page that embeds this one, and what the two say to each other: strings, `NAME` or `NAME;{json}` (clients.md 10). */

const embedder = window.parent === window ? undefined : window.parent

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)

const told = embedder && (location.ancestorOrigins?.[0] ?? originOf(document.referrer))

/** The embedding page's origin, where the browser tells it; a page may have none of its own. */
export const pageOrigin: string | undefined = told !== undefined && /^https?:/.test(told) ? told : undefined

/** Where messages may go. A page without an origin of its own can be reached by no other name than any. */
const target = told === undefined || told === 'null' ? '*' : told

export function tell(name: string, detail?: object): void {
  embedder?.postMessage(detail === undefined ? name : `${name};${JSON.stringify(detail)}`, target)
}

/** Calls back when the embedding page, and nobody else, says `name`. */
export function onTold(name: string, then: () => void): void {
  addEventListener('message', ({ source, data }) => {
    if (embedder && source === embedder && typeof data === 'string' && data.split(';')[0] === name) then()
  })
}

/** Resolves when the page has given this frame its new size; a page that never does is not waited for long. */
export function resized(): Promise<void> {
  if (!embedder) return Promise.resolve()
  return new Promise((resolve) => {
    addEventListener('resize', () => resolve(), { once: true })
    setTimeout(resolve, 250)
  })
}
