/** The page's requests. The service worker answers all of them. */

export const urlOf = (path: string): string => new URL(path, new URL('.', document.baseURI)).href

export interface PageAnswer {
  readonly ok: boolean
  // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for
  readonly body: any
}

/** Sends an object as JSON, or a file unchanged. Never rejects: without an answer, `ok` is false. */
export async function sendRequest(method: string, path: string, body?: object): Promise<PageAnswer> {
  const answer = await fetch(urlOf(path), {
    method,
    cache: 'no-store',
    ...(body && {
      headers: { 'content-type': 'application/json' },
      body: body instanceof Blob ? body : JSON.stringify(body),
    }),
  }).catch(() => undefined)
  const read = answer?.status === 204 ? {} : await answer?.json().catch(() => undefined)
  if (!answer || read === undefined) return { ok: false, body: { error: 'There was no answer. Reload this page.' } }
  return { ok: answer.ok, body: read }
}

/** What the worker and its pages tell each other: a mail arrived, a code was typed, or the state was replaced. */
export type ChannelMessage = 'mail' | 'code' | 'changed'
export const channelName = (scope: string): string => `farthing demo ${scope}`
