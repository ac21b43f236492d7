import { visibleFailure, visibleLine, visibleText } from '../src/base/text/visible.js'
import { messageOf } from '../src/storage/unknown.js'

/** Everything that a command writes leaves here, so that no text of others moves the cursor, hides or begins a line. */

export const printLine = (line: string): void => void process.stdout.write(`${visibleLine(line)}\n`)
export const printLines = (lines: readonly string[]): void => void process.stdout.write(visibleLines(lines))
/** Prints a document whose line breaks are its own: an export, a script, indented JSON. */
export const printText = (text: string): void => void process.stdout.write(visibleText(text))
/** Prints what has colours of our own. Its parts went through `visibleLine`. */
export const printStyled = (text: string): void => void process.stdout.write(text)
/** Prints one line for the user. Only results go to stdout. */
export const printToStderr = (message: string): void => void process.stderr.write(`farthing: ${visibleLine(message)}\n`)
export const printFailure = (failure: unknown): void =>
  void process.stderr.write(`farthing: ${visibleFailure(failure)}\n`)

/**
 * Lets a command go on when nobody takes what it prints: a sandbox still serves, and `exec` still ends like its command. A
 * reader such as `head` may close its pipe early. Output that is lost otherwise, on a full disk, is said once, and the exit
 * code tells.
 */
export function surviveLostOutput(): void {
  let isSaid = false
  process.stderr.on('error', () => {})
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (isSaid || error.code === 'EPIPE') return
    isSaid = true
    printToStderr(`cannot write the output: ${messageOf(error)}`)
    process.once('exit', () => {
      process.exitCode ||= 1
    })
  })
}

const visibleLines = (lines: readonly string[]): string => lines.map((line) => `${visibleLine(line)}\n`).join('')

export interface ProgressStream {
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
  write(text: string): unknown
}

export interface ProgressOptions {
  /** Of the command. Programs that read JSON show their own progress. */
  readonly json?: boolean | undefined
  readonly stream?: ProgressStream
  /** Milliseconds that only grow. */
  readonly now?: () => number
}

const PAUSE_MS = 80
const BAR = 24

/** Shows on one line of stderr how far a long command has got, if stderr is a terminal, and not with `--json`. */
export class Progress {
  readonly #stream: ProgressStream
  readonly #now: () => number
  readonly #isShown: boolean
  #drawnAt: number
  #isDrawn = false

  constructor({ json = false, stream = process.stderr, now = () => performance.now() }: ProgressOptions = {}) {
    this.#stream = stream
    this.#now = now
    this.#isShown = !json && stream.isTTY === true
    this.#drawnAt = now()
  }

  /** Shows a step. `share`: how much of it is done, from 0 to 1. Absent: nobody knows. */
  show(step: string, { share, count }: { share?: number | undefined; count: string }): void {
    if (!this.#isShown || this.#now() - this.#drawnAt < PAUSE_MS) return
    this.#drawnAt = this.#now()
    this.#isDrawn = true
    const done = Math.min(Math.max(share ?? 0, 0), 1)
    const full = Math.round(done * BAR)
    const bar = share === undefined ? '' : `${'█'.repeat(full)}${'░'.repeat(BAR - full)} ${percent(done)} `
    this.#stream.write(`\r\x1b[K${`${step} ${bar}${count}`.slice(0, (this.#stream.columns ?? 80) - 1)}`)
  }

  end(): void {
    if (this.#isDrawn) this.#stream.write('\r\x1b[K')
    this.#isDrawn = false
  }
}

const percent = (share: number): string => `${Math.floor(share * 100)}%`.padStart(4)
/** `12,000 rows` */
export const shownRows = (rows: number): string => `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`
/** `1.5 MB` */
export const shownBytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`
