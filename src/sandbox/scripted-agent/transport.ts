import { isObject } from '../../storage/unknown.js'

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

/** A refresh token is good once: calls that find theirs over at the same time share what the first of them gets for it. */
export function sharingRefreshes(fetch: Fetch): Fetch {
  const shared = new Map<string, Promise<Response>>()
  return async (input, init) => {
    const form = init?.body instanceof URLSearchParams ? init.body : undefined
    const token = form?.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null
    if (token === null || token === undefined) return fetch(input, init)
    const answer = shared.get(token) ?? fetch(input, init)
    shared.set(token, answer)
    // What failed may be tried again.
    const isOver = () => shared.delete(token)
    void answer.then(({ ok }) => ok || isOver(), isOver)
    return (await answer).clone()
  }
}

/** A `fetch` that remembers how a server refused last, other than for want of a token. */
export function hearingRefusals(fetch: Fetch, { pathname }: URL): { fetch: Fetch; refusal(): string | undefined } {
  let heard: string | undefined
  return {
    async fetch(input, init) {
      const answer = await fetch(input, init)
      if (new URL(input).pathname === pathname && answer.status >= 400 && answer.status !== 401)
        heard = `${pathname} answered ${answer.status}: ${await sentenceOf(answer.clone())}`
      return answer
    },
    refusal: () => heard,
  }
}

async function sentenceOf(answer: Response): Promise<string> {
  const text = await answer.text()
  try {
    const answered: unknown = JSON.parse(text)
    return isObject(answered) && typeof answered.error === 'string' ? answered.error : text
  } catch {
    return text
  }
}
