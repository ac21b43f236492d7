type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>

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
    return (JSON.parse(text) as { error: string }).error
  } catch {
    return text
  }
}
