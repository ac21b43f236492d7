/** One line to whoever runs the command: stdout stays for what was asked for. */
export function tell(message: string): void {
  process.stderr.write(`farthing: ${message}\n`)
}
