/** Where progress is shown: stderr, unless a test says otherwise. */
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

/** The shortest time between two drawings, in milliseconds. */
const PAUSE_MS = 80
const BAR = 24

/**
 * Shows on one line of stderr how far a long command has got. Shows nothing if stderr is not a terminal, or with
 * `--json`. A short command shows nothing either.
 */
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

  /** Clears the line. */
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
