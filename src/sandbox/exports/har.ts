import { VERSION } from '../../base/version.js'
import type { Entry, JournalMessage } from '../onion/entry.js'

/** Writes entries as an HTTP Archive (HAR 1.2). Secrets are not in it. */
export function harExport(entries: readonly Entry[], { baseUrl }: { readonly baseUrl: string }): string {
  const log = {
    version: '1.2',
    creator: { name: 'farthing', version: VERSION },
    entries: entries.flatMap((each) => harEntry(each, baseUrl)),
  }
  return `${JSON.stringify({ log }, null, 2)}\n`
}

function harEntry(entry: Entry, baseUrl: string) {
  const { origin, status, request, response } = entry
  if (origin === 'timer' || origin === 'delivery') return []
  const time = entry.ms ?? 0
  const url = baseUrl + entry.path
  const query = entry.path.includes('?') ? new URLSearchParams(entry.path.replace(/^[^?]*\?/, '')) : []
  return [
    {
      startedDateTime: entry.at,
      time,
      request: {
        method: entry.method,
        url,
        ...ofMessage(request),
        queryString: Array.from(query, ([name, value]) => ({ name, value })),
        ...(request.body !== null && { postData: { mimeType: typeOf(request), text: request.body } }),
      },
      response: {
        status: status ?? 0,
        statusText: '',
        ...ofMessage(response),
        content: {
          size: sizeOf(response),
          mimeType: typeOf(response),
          ...(response.body !== null && { text: response.body }),
        },
        redirectURL: response.headers.location ?? '',
      },
      cache: {},
      timings: { send: 0, wait: time, receive: 0 },
      comment: [
        entry.id,
        ...(request.cut || response.cut ? ['cut at 16 KiB'] : []),
        ...(status === null ? ['no answer'] : []),
      ].join(', '),
    },
  ]
}

const ofMessage = (message: JournalMessage) => ({
  httpVersion: 'HTTP/1.1',
  cookies: [],
  headers: Object.entries(message.headers).map(([name, value]) => ({ name, value })),
  headersSize: -1,
  bodySize: sizeOf(message),
})

const sizeOf = ({ body }: JournalMessage): number => (body === null ? 0 : new TextEncoder().encode(body).length)
const typeOf = ({ headers }: JournalMessage): string => headers['content-type'] ?? 'application/json'
