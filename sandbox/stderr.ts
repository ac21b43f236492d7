/** Prints one line for the user. Only results go to stdout. */
export function printToStderr(message: string): void {
  process.stderr.write(`farthing: ${message}\n`)
}
