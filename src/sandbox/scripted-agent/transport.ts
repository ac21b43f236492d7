import { LimitedMap } from '../../base/memo.js'
import { isObject } from '../../storage/unknown.js'

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

/** How many refreshes it remembers. A later call with the same token is refused by the server. */
const MOST_REFRESHES = 100

/** Shares refreshes. A refresh token works once, so calls that need it at the same time share the new tokens. */
export function sharingRefreshes(fetch: Fetch): Fetch {
  const shared = new LimitedMap<string, Promise<Response>>(MOST_REFRESHES)
  return async (input, init) => {
    const form = init?.body instanceof URLSearchParams ? init.body : undefined
    const token = form?.get('grant_type') === 'refresh_token' ? form.get('refresh_token') : null
    if (token === null || token === undefined) return fetch(input, init)
    const answer = shared.get(token) ?? fetch(input, init)
    shared.set(token, answer)
    // A failed refresh may be tried again.
    const isOver = () => shared.delete(token)
    void answer.then(({ ok }) => ok || isOver(), isOver)
    return (await answer).clone()
  }
}

/** Returns a `fetch` that remembers the last refusal of a server, except for a missing token. */
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
