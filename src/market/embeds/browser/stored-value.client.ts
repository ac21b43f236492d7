/**
 * A value that outlives the page, in the frame's own storage. A browser that gives a frame none, as Chromium does where
 * third-party cookies are blocked, still has partitioned cookies: seen by this frame, under this embedding site, alone.
 * What can be kept nowhere is held in memory.
 */
export class Kept {
  readonly #area: 'localStorage' | 'sessionStorage'
  readonly #name: string
  #memory: string | null = null

  constructor(area: 'localStorage' | 'sessionStorage', name: string) {
    this.#area = area
    this.#name = name
  }

  get(): string | null {
    const storage = this.#storage()
    return storage ? storage.getItem(this.#name) : (readCookie(this.#name) ?? this.#memory)
  }

  set(value: string | null): void {
    const storage = this.#storage()
    if (!storage) {
      writeCookie(this.#name, value)
      this.#memory = value
    } else if (value === null) storage.removeItem(this.#name)
    else storage.setItem(this.#name, value)
  }

  #storage(): Storage | undefined {
    try {
      return window[this.#area]
    } catch {
      return undefined
    }
  }
}

function readCookie(name: string): string | undefined {
  try {
    const pair = document.cookie.split('; ').find((each) => each.startsWith(`${name}=`))
    return pair?.slice(name.length + 1)
  } catch {
    // A sandboxed frame has no cookies either.
    return undefined
  }
}

/** For a day, as long as a session lives; the service reads no cookie of such a name. */
function writeCookie(name: string, value: string | null): void {
  const age = value === null ? 0 : 86_400
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere
    document.cookie = `${name}=${value ?? ''}; Path=/; Max-Age=${age}; SameSite=None; Secure; Partitioned`
  } catch {
    // As above: memory holds it.
  }
}
