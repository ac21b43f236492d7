import { repeatableService, type Turn } from './tour.js'

/** A request that was sent in a recorded session, and its answer. */
export interface Exchange {
  readonly turn: Turn
  readonly request: RecordedMessage & { readonly method: string; readonly path: string }
  readonly answer: RecordedMessage & { readonly status: number }
  /** Its place among the beginnings and ends of all exchanges: some go on while others begin. */
  readonly began: number
  readonly ended: number
}

export interface RecordedMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** Headers that matter to clients. */
const shownHeaders = {
  request: [
    ...['authorization', 'accept', 'content-type', 'idempotency-key', 'origin', 'x-device-token', 'x-session-id'],
    ...['payment-signature', 'x-payment'],
    ...['mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id'],
  ],
  answer: [
    ...['allow', 'content-type', 'idempotent-replayed', 'location', 'retry-after', 'www-authenticate', 'x-evidence'],
    ...['mcp-session-id', 'x-payment-id', 'x-payment-status', 'x-session-id'],
    ...['payment-required', 'payment-response', 'x-payment-response'],
  ],
}

const headersIn = ({ headers }: Request | Response, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.flatMap((name) => (headers.has(name) ? [[name, headers.get(name) ?? '']] : [])))

/** Endless answers are not read. */
const textOf = async (message: Request | Response): Promise<string> =>
  message.headers.get('content-type')?.startsWith('text/event-stream') ? '' : message.clone().text()

/** Records a session. */
export class SessionRecorder {
  readonly exchanges: Exchange[] = []
  #places = 0

  async pass(request: Request, fetch: (request: Request) => Promise<Response>, turn: Turn): Promise<Response> {
    const began = this.#places++
    const { method, url } = request
    const { pathname, search } = new URL(url)
    const headers = headersIn(request, [...shownHeaders.request, 'cookie'])
    const sent = { method, path: pathname + search, headers, text: await textOf(request) }
    const response = await fetch(request)
    const answer = await readAnswer(response)
    this.exchanges.push({ turn, request: sent, answer, began, ended: this.#places++ })
    return response
  }
}

const readAnswer = async (response: Response): Promise<Exchange['answer']> => ({
  status: response.status,
  headers: headersIn(response, shownHeaders.answer),
  text: await textOf(response),
})

/** How often a call that waits for work in the background is repeated. */
const MOST_TRIES = 500

/**
 * Sends a recorded session again to a new service. Returns the exchanges whose answers differ, with the new answers.
 * Signatures differ on every run, so tokens of apps are replaced by those of the new service.
 */
export async function replayed(
  exchanges: readonly Exchange[],
): Promise<{ readonly exchange: Exchange; readonly again: Exchange['answer'] }[]> {
  const { service, send, close } = repeatableService()
  const tokens = new Map<string, string>()
  const renewed = (text: string): string => text.replace(JWT, (token) => tokens.get(token) ?? token)
  async function answerTo({ turn, request: { method, path, headers, text } }: Exchange): Promise<Exchange['answer']> {
    const own = Object.entries(headers).map(([name, value]): [string, string] => [name, renewed(value)])
    const body = text === '' ? {} : { body: renewed(text) }
    return readAnswer(await send(new Request(service.baseUrl + renewed(path), { method, headers: own, ...body }), turn))
  }
  async function again(exchange: Exchange): Promise<Exchange['answer']> {
    for (let tries = 1; ; tries++) {
      const answer = await answerTo(exchange)
      if (exchange.turn.seed !== undefined || isSame(exchange.answer, answer) || tries === MOST_TRIES) return answer
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  const steps = exchanges.flatMap((exchange) => [
    { at: exchange.began, exchange, begins: true },
    { at: exchange.ended, exchange, begins: false },
  ])
  const running = new Map<Exchange, Promise<Exchange['answer']>>()
  const wrong: { exchange: Exchange; again: Exchange['answer'] }[] = []
  try {
    for (const { exchange, begins } of steps.sort((a, b) => a.at - b.at)) {
      if (begins) running.set(exchange, again(exchange))
      const answer = begins ? undefined : await running.get(exchange)
      if (answer === undefined) continue
      for (const [place, token] of tokensIn(exchange.answer).entries())
        tokens.set(token, tokensIn(answer)[place] ?? token)
      if (!isSame(exchange.answer, answer)) wrong.push({ exchange, again: answer })
    }
  } finally {
    await close()
  }
  return wrong
}

const JWT = /ey[\w-]+\.ey[\w-]+\.[\w-]+/g

const tokensIn = ({ text }: RecordedMessage): readonly string[] => text.match(JWT) ?? []

const isSame = (one: Exchange['answer'], other: Exchange['answer']): boolean =>
  JSON.stringify(withoutSignatures(one)) === JSON.stringify(withoutSignatures(other))

/** A token whose signature is none. */
const UNSIGNED = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'

/** Replaces what differs on every run: signed tokens, and the public keys that they are checked with. */
export const withoutSignatures = <T extends RecordedMessage>(message: T): T => ({
  ...message,
  headers: Object.fromEntries(
    Object.entries(message.headers).map(([name, value]) => [name, value.replace(JWT, UNSIGNED)]),
  ),
  text: message.text
    .replace(JWT, UNSIGNED)
    .replace(/"(x|y|n|kid)":"[\w-]{20,}"/g, '"$1":"example-$1"')
    .replace(/"kids":\[[^\]]*\]/g, '"kids":["example-kid"]'),
})
