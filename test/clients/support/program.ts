import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

/** A program that is a client, and talks to its test in lines. */
export class Program {
  readonly #child: ChildProcess
  readonly #waiting: ((answer: any) => void)[] = []
  /** Resolves when the program ends. */
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly output: string }>

  /** `heard` gets each line that it writes. `env` is added to the environment. */
  constructor(
    [file = '', ...args]: readonly string[],
    { env = {}, heard = () => {} }: { env?: Record<string, string>; heard?: (line: string) => void } = {},
  ) {
    const child = spawn(file, args, { env: { ...process.env, ...env } })
    this.#child = child
    let stdout = ''
    let output = ''
    child.stdout.on('data', (text: Buffer) => (stdout += text))
    for (const stream of [child.stdout, child.stderr])
      createInterface(stream).on('line', (line) => {
        output += `${line}\n`
        if (line.startsWith('RESULT ')) this.#waiting.shift()?.(JSON.parse(line.slice('RESULT '.length)))
        else heard(line)
      })
    this.ended = new Promise((resolve) => {
      child.on('error', ({ message }) => resolve({ code: null, stdout, output: message }))
      child.on('close', (code) => resolve({ code, stdout, output }))
    })
  }

  /** Sends a message as a line of JSON. Returns the JSON of the next line that begins with `RESULT`. */
  async ask(message: object): Promise<any> {
    const answered = new Promise((resolve) => this.#waiting.push(resolve))
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`)
    const failed = this.ended.then(({ output }) => Promise.reject(new Error(`The program ended:\n${output}`)))
    return Promise.race([answered, failed])
  }

  /** Ends its input, and waits until it ends. */
  async close(): Promise<void> {
    this.#child.stdin?.end()
    await this.ended
  }
}
