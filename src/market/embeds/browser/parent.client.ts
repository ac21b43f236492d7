/**
 * The page that embeds this one, and what the two say to each other: strings, `NAME` or `NAME;{json}` (clients.md 10).
 * A flow that goes on in a window of its own talks with the frame that opened it instead, which passes on what the page may hear.
 */

export const embedder = window.parent === window ? undefined : window.parent

/** This page is a window that a frame of the same service opened. */
export const inOwnWindow = !embedder && location.hash === '#window'

const originOf = (url: string): string | undefined => (URL.canParse(url) ? new URL(url).origin : undefined)

const told = embedder && (location.ancestorOrigins?.[0] ?? originOf(document.referrer))

/** The embedding page's origin, where the browser tells it; a page may have none of its own. */
export let pageOrigin: string | undefined = told !== undefined && /^https?:/.test(told) ? told : undefined

/** Where messages may go. A page without an origin of its own can be reached by no other name than any. */
const target = inOwnWindow ? location.origin : told === undefined || told === 'null' ? '*' : told

const listener = inOwnWindow ? (window.opener as Window | null) : embedder // `any` in lib.dom

const message = (name: string, detail?: object): string =>
  detail === undefined ? name : `${name};${JSON.stringify(detail)}`

export const tell = (name: string, detail?: object): void => listener?.postMessage(message(name, detail), target)

/** Calls back when `source`, and nobody else, says something. */
const listen = (source: () => unknown, then: (name: string, detail: string, origin: string) => void): void =>
  addEventListener('message', ({ source: from, data, origin }) => {
    if (!from || from !== source() || typeof data !== 'string') return
    const [name = '', ...rest] = data.split(';')
    then(name, rest.join(';'), origin)
  })

/** Calls back when the embedding page, and nobody else, says `name`. */
export const onTold = (name: string, then: () => void): void =>
  listen(
    () => embedder,
    (said) => said === name && then(),
  )

/** Resolves when the page has given this frame its new size; a page that never does is not waited for long. */
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

/** Goes on in a window of its own. False where the browser does not let one open. */
export function openWindow(): boolean {
  opened?.close()
  opened = open(`${location.href.split('#')[0]}#window`, '_blank', 'popup,width=460,height=720')
  return opened !== null
}

export const closeWindow = (): void => opened?.close()

/** Does as the window says that this frame opened; `done` is called when its flow has ended well. */
export const heedWindow = (done: (line: string) => void): void =>
  listen(
    () => opened,
    (name, detail, origin) => {
      if (origin !== location.origin) return
      if (name === ASK) opened?.postMessage(message(ANSWER, { origin: pageOrigin }), origin)
      else if (name === DONE) done(JSON.parse(detail).line)
      else if (name === '_TQMSuccess') tell(name, JSON.parse(detail))
      else if (name === '_TQMFail') tell(name)
    },
  )

/** Tells the frame that opened this window, if one did, how its flow ended. */
export const tellDone = (line: string): void => {
  if (inOwnWindow) tell(DONE, { line })
}

let answered = () => {}

/** How long the frame may take to answer its window. */
const FRAME_PATIENCE_MS = 2000

/** Whether somebody waits for what this window will tell: the frame that opened it, and so the page. */
export function isAwaited(): Promise<boolean> {
  if (!inOwnWindow) return Promise.resolve(true)
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), FRAME_PATIENCE_MS)
    answered = () => resolve(true)
    tell(ASK)
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
