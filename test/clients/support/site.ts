/** A site with a server of its own, as one browser sees it: it keeps the cookies and follows no redirect. */
export class Site {
  readonly #origin: string
  readonly #fetch: (request: Request) => Promise<Response>
  readonly #cookies = new Map<string, string>()

  constructor(origin: string, fetch: (request: Request) => Promise<Response>) {
    this.#origin = origin
    this.#fetch = fetch
  }

  get(address: string | URL): Promise<Response> {
    return this.#send(new Request(new URL(address, this.#origin)))
  }

  post(address: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
    return this.#send(
      new Request(new URL(address, this.#origin), {
        method: 'POST',
        body,
        headers: { ...headers, origin: this.#origin },
      }),
    )
  }

  async #send(request: Request): Promise<Response> {
    if (this.#cookies.size > 0)
      request.headers.set('cookie', [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '))
    const response = await this.#fetch(request)
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return response
  }
}
