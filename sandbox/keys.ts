import { isInForeground } from './signals.js'

/** A terminal that keys come from, such as `process.stdin`. */
export interface KeyInput {
  readonly isTTY?: boolean | undefined
  setRawMode?(isRaw: boolean): unknown
  on(event: 'data', listener: (chunk: Buffer | string) => void): unknown
  off(event: 'data', listener: (chunk: Buffer | string) => void): unknown
  resume(): unknown
  pause(): unknown
}

const CTRL_C = '\x03'
const CTRL_Z = '\x1a'

/** Whether a person can press keys: a background job that reads its terminal would be stopped. */
export const canReadKeys = ({ isTTY, setRawMode }: KeyInput): boolean =>
  isTTY === true && setRawMode !== undefined && isInForeground()

/**
 * Calls `press` with each key until the returned function restores the terminal, or until the process ends, even by an
 * error. A raw terminal sends no signals, so Ctrl+C and Ctrl+Z are sent here.
 */
export function readKeys(input: KeyInput, press: (key: string) => void): () => void {
  let isReading = false
  const take = (chunk: Buffer | string) => {
    const key = String(chunk)
    if (key === CTRL_C) process.emit('SIGINT')
    else if (key === CTRL_Z) suspend()
    // A longer chunk is an arrow, or a text that was pasted.
    else if (key.length === 1) press(key)
  }
  const begin = () => {
    if (isReading || !canReadKeys(input)) return
    isReading = true
    input.setRawMode?.(true)
    input.on('data', take)
    input.resume()
  }
  const restore = () => {
    if (!isReading) return
    isReading = false
    input.off('data', take)
    input.setRawMode?.(false)
    input.pause()
  }
  const suspend = () => {
    if (process.platform === 'win32') return
    restore()
    process.once('SIGCONT', begin)
    // The terminal stops all of its foreground job, npm too.
    process.kill(0, 'SIGTSTP')
  }
  process.once('exit', restore)
  begin()
  return () => {
    process.off('exit', restore)
    process.off('SIGCONT', begin)
    restore()
  }
}
