/** Cookies of a page, which a browser hides from its scripts. MSW 2 keeps them, and so does MSW 3 in a browser, but not in Node. */

/** MSW 2 adds the cookies that it keeps to the Cookie header of every request, and names their attributes as cookies. */
const attribute = /^(expires|max-age|domain|path|samesite)$/i
const attributes = /(?:^|[;,])\s*(?:expires|max-age|domain|path|samesite)=/i

/** Whether MSW has added cookies that it keeps to a Cookie header. Otherwise the client itself has sent it. */
export const isMixed = (cookie: string): boolean => attributes.test(cookie)

/** What handlers keep for their page, in memory. */
export class CookieJar {
  /** By name, as `name=value`. */
  readonly #pairs = new Map<string, string>()

  /** Stores or deletes the cookie of a Set-Cookie header. */
  keep(setCookie: string): void {
    const [pair = '', ...rest] = setCookie.split(/;\s*/)
    const [name = ''] = pair.split('=', 1)
    if (rest.some((each) => each.toLowerCase() === 'max-age=0')) this.#pairs.delete(name)
    else this.#pairs.set(name, pair)
  }

  /** A Cookie header with what MSW found for the request, which includes what its client has sent. Null if there is none. */
  header(found: Readonly<Record<string, string>>): string | null {
    const pairs = new Map(this.#pairs)
    for (const [name, value] of Object.entries(found))
      if (!attribute.test(name)) pairs.set(name, `${name}=${encodeURIComponent(value)}`)
    return pairs.size > 0 ? [...pairs.values()].join('; ') : null
  }
}
