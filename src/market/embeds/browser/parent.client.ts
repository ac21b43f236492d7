import { Refused } from './service.client.js'

/**
 * Messages between this page and the page that embeds it: strings `NAME` or `NAME;{json}`. A flow in its own window
 * talks to the frame that opened it, which forwards what the page may know.
 */

export const embedder = window.parent === window ? undefined : window.parent

/** Whether a frame of the same service opened this window. */
export const inOwnWindow = !embedder && location.hash === '#window'

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)
const reportedOrigin = embedder && (location.ancestorOrigins?.[0] ?? originOf(document.referrer))

/** The embedding page's origin, if the browser reveals it. A sandboxed page has none. */
export let pageOrigin: string | undefined =
  reportedOrigin !== undefined && /^https?:/.test(reportedOrigin) ? reportedOrigin : undefined

/** Where messages may go. A page without an origin can only be addressed by `*`. */
const target = inOwnWindow
  ? location.origin
  : reportedOrigin === undefined || reportedOrigin === 'null'
    ? '*'
    : reportedOrigin

const listener = inOwnWindow ? (window.opener as Window | null) : embedder // `any` in lib.dom

const message = (name: string, detail?: object): string =>
  detail === undefined ? name : `${name};${JSON.stringify(detail)}`

export const sendMessage = (name: string, detail?: object): void => listener?.postMessage(message(name, detail), target)

const listen = (source: () => unknown, then: (name: string, detail: string, origin: string) => void): void =>
  addEventListener('message', ({ source: from, data, origin }) => {
    if (!from || from !== source() || typeof data !== 'string') return
    const [name = '', ...rest] = data.split(';')
    then(name, rest.join(';'), origin)
  })

/** Calls back when the embedding page sends `name`. */
export const onMessage = (name: string, then: () => void): void =>
  listen(
    () => embedder,
    (said) => said === name && then(),
  )

/** What this frame has asked its page. */
let question: { answer: string; resolve(told: string): void; reject(reason: Error): void } | undefined

/** Asks the page, and resolves with its answer. Answers that were not asked for count for nothing. */
export const askPage = (name: string, answer: string, detail: object): Promise<string> =>
  new Promise((resolve, reject) => {
    question = { answer, resolve, reject }
    sendMessage(name, detail)
  })

/** The user waits no more. */
export const cancelQuestion = (): void => question?.reject(new Refused('cancelled', 0, 'Cancelled.'))

listen(
  () => embedder,
  (name, detail) => {
    if (question?.answer === name) question.resolve(detail)
  },
)

/** Resolves when the page has resized this frame, or after a short wait. */
export function resized(): Promise<void> {
  if (!embedder) return Promise.resolve()
  return new Promise((resolve) => {
    addEventListener('resize', () => resolve(), { once: true })
    setTimeout(resolve, 250)
  })
}

const ASK = 'farthing.ask'
const ANSWER = 'farthing.answer'
const DONE = 'farthing.done'
let opened: Window | null = null

/** Opens a window for this flow. Returns false if the browser blocks it. */
export function openWindow(): boolean {
  opened?.close()
  opened = open(`${location.href.split('#')[0]}#window`, '_blank', 'popup,width=460,height=720')
  return opened !== null
}

export const closeWindow = (): void => opened?.close()

/** Handles messages of the window that this frame opened. `done` is called when its flow succeeds. */
export const handleWindow = (done: (line: string) => void): void =>
  listen(
    () => opened,
    (name, detail, origin) => {
      if (origin !== location.origin) return
      if (name === ASK) opened?.postMessage(message(ANSWER, { origin: pageOrigin }), origin)
      else if (name === DONE) done(JSON.parse(detail).line)
      else if (name === '_TQMSuccess') sendMessage(name, JSON.parse(detail))
      else if (name === '_TQMFail') sendMessage(name)
    },
  )

const PAID = 'farthing.paid'

/** Hands on what was paid in this window to the frame that opened it, which keeps it. */
export const handOver = (paid: object): void => sendMessage(PAID, paid)

/** Calls back with what was paid in the window that this frame opened. */
export const onHandedOver = (then: (paid: string) => void): void =>
  listen(
    () => opened,
    (name, detail, origin) => {
      if (name === PAID && origin === location.origin) then(detail)
    },
  )

/** Tells the frame that opened this window how the flow ended. */
export const sendDone = (line: string): void => {
  if (inOwnWindow) sendMessage(DONE, { line })
}

let answered = () => {}
const FRAME_TIMEOUT_MS = 2000

/** Whether the frame that opened this window, and so the page, still waits for it. */
export function isAwaited(): Promise<boolean> {
  if (!inOwnWindow) return Promise.resolve(true)
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), FRAME_TIMEOUT_MS)
    answered = () => resolve(true)
    sendMessage(ASK)
  })
}

if (inOwnWindow)
  listen(
    () => window.opener,
    (name, detail, origin) => {
      if (name !== ANSWER || origin !== location.origin) return
      pageOrigin = JSON.parse(detail).origin
      answered()
    },
  )
