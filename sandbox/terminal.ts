import { visibleFailure, visibleLine, visibleText } from '../src/base/text/visible.js'

/** Everything that a command writes leaves here, so that no text of others moves the cursor, hides or begins a line. */

export const printLine = (line: string): void => void process.stdout.write(`${visibleLine(line)}\n`)

export const printLines = (lines: readonly string[]): void => void process.stdout.write(visibleLines(lines))

/** Prints a document whose line breaks are its own: an export, a script, indented JSON. */
export const printText = (text: string): void => void process.stdout.write(visibleText(text))

/** Prints what has colours of our own. Its parts went through `visibleLine`. */
export const printStyled = (text: string): void => void process.stdout.write(text)

/** Prints one line for the user. Only results go to stdout. */
export const printToStderr = (message: string): void => void process.stderr.write(`farthing: ${visibleLine(message)}\n`)

/** Prints a defect with its stack. */
export const printFailure = (failure: unknown): void =>
  void process.stderr.write(`farthing: ${visibleFailure(failure)}\n`)

const visibleLines = (lines: readonly string[]): string => lines.map((line) => `${visibleLine(line)}\n`).join('')
