/** Calls of the page, all of them answered by its worker. */

/** An address below this page, wherever it is hosted. */
export const at = (path: string): string => new URL(path, new URL('.', document.baseURI)).href

export interface Got {
  readonly ok: boolean
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for
  readonly body: any
}

/** Sends JSON, or a file as it is. Never rejects: what brings no answer is a refusal too. */
export async function send(method: string, path: string, body?: object): Promise<Got> {
  const answer = await fetch(at(path), {
    method,
    cache: 'no-store',
    ...(body && {
      headers: { 'content-type': 'application/json' },
      body: body instanceof Blob ? body : JSON.stringify(body),
    }),
  }).catch(() => undefined)
  const read = answer?.status === 204 ? {} : await answer?.json().catch(() => undefined)
  if (!answer || read === undefined) return { ok: false, body: { error: 'No answer came. Load this page again.' } }
  return { ok: answer.ok, body: read }
}
