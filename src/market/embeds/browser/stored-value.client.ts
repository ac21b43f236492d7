/**
 * A value that survives a reload, in the frame's own storage. A browser that gives a frame no storage, such as Chromium
 * when it blocks third-party cookies, has partitioned cookies, which only this frame on this site sees. Otherwise the
 * value stays in memory.
 */
export class StoredValue {
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

/** Sets a cookie for a day, as long as a session lives. The service does not read it. */
function writeCookie(name: string, value: string | null): void {
  const age = value === null ? 0 : 86_400
  try {
    // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is not everywhere
    document.cookie = `${name}=${value ?? ''}; Path=/; Max-Age=${age}; SameSite=None; Secure; Partitioned`
  } catch {
    // The value stays in memory.
  }
}
