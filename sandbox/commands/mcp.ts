import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { parsedJson } from '../../src/base/json.js'
import { visibleLine } from '../../src/base/text/visible.js'
import { isObject } from '../../src/storage/unknown.js'
import type { Settings } from '../config.js'
import { Refusal } from '../refusal.js'
import { findControlToken } from '../run-file.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { packageManagerEnded, stopSignal } from '../signals.js'
import { printToStderr } from '../terminal.js'

/** Serves the tools of the sandbox `named`, of a running one or of one in memory, over stdio until it ends. Throws `Refusal`. */
export async function mcp(named: string | undefined, settings: Settings): Promise<void> {
  const stopped = Promise.race([stopSignal(), packageManagerEnded()])
  const leaving = new AbortController()
  void stopped.then(() => leaving.abort())
  const running = await findSandbox(named ?? `http://127.0.0.1:${settings.port}`, leaving.signal)
  if (leaving.signal.aborted) return
  let started: RunningSandbox | undefined
  if (running === undefined) {
    if (named !== undefined) throw new Refusal(`no sandbox answers at ${named}: start it, or leave out --url`)
    started = await startSandbox({ ...settings, data: undefined, database: undefined }, { warn: printToStderr })
  }
  const url = running ?? ''
  const source = started ?? { url, controlToken: settings.controlToken ?? findControlToken(url, process.env) }
  const origin = started ? 'no sandbox was running: started one in memory at' : 'using the running sandbox at'
  printToStderr(`${origin} ${source.url}`)
  try {
    await forwardMessages(source, { input: process.stdin, output: process.stdout }, stopped)
  } finally {
    await started?.close()
    process.stdin.destroy()
  }
}

/** How long whatever listens there may take to say what it is. */
const FIND_MS = 5000

async function findSandbox(named: string, leaving: AbortSignal): Promise<string | undefined> {
  const url = named.replace(/\/+$/, '')
  try {
    const signal = AbortSignal.any([leaving, AbortSignal.timeout(FIND_MS)])
    const health: unknown = await (await fetch(`${url}/_sandbox/health`, { redirect: 'error', signal })).json()
    return isObject(health) && health.name === 'farthing' ? url : undefined
  } catch {
    return undefined
  }
}

/** Forwards messages to the sandbox and its answers back, until the input ends or `stopped` resolves. What fails gets an error. */
export async function forwardMessages(
  { url, controlToken }: { readonly url: string; readonly controlToken: string | undefined },
  { input, output }: { readonly input: Readable; readonly output: Writable },
  stopped: Promise<unknown>,
): Promise<void> {
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const headers = controlToken === undefined ? {} : { 'x-control-token': controlToken }
  const sandbox = new StreamableHTTPClientTransport(new URL(`${url}/_sandbox/mcp`), {
    requestInit: { headers, redirect: 'error' },
  })
  const unanswered = new Set<unknown>()
  let idle = () => {}
  const answer = (message: object) => {
    // An escape in JSON stands for the same character.
    output.write(`${visibleLine(JSON.stringify(message))}\n`)
    if ('id' in message && !('method' in message)) unanswered.delete(message.id)
    if (unanswered.size === 0) idle()
  }
  sandbox.onmessage = (message) => {
    noteVersion(sandbox, message)
    answer(message)
  }
  const lines = createInterface({ input })
  lines.on('line', (line) => {
    const message = messageIn(line)
    if (!message) return answer(unreadable)
    const id = 'method' in message && 'id' in message ? message.id : undefined
    if (id !== undefined) unanswered.add(id)
    sandbox.send(message).catch((cause: unknown) => {
      if (id !== undefined) answer({ jsonrpc: '2.0', id, error: { code: -32603, message: reasonOf(cause, url) } })
    })
  })
  const ended = new Promise<void>((resolve) => lines.once('close', resolve))
  await sandbox.start()
  await Promise.race([ended, stopped])
  if (unanswered.size > 0) await Promise.race([new Promise<void>((resolve) => (idle = resolve)), stopped])
  lines.close()
  await sandbox.close()
}

/** JSON-RPC has no id for the answer to a message that nobody can read. */
const unreadable = { jsonrpc: '2.0', id: null, error: { code: -32700, message: 'This line is not a JSON object.' } }

function messageIn(line: string): JSONRPCMessage | undefined {
  const message = parsedJson(line)
  return isObject(message) ? (message as JSONRPCMessage) : undefined
}

/** A client of 2025 sends the version that it was answered with each message. */
function noteVersion(sandbox: StreamableHTTPClientTransport, message: JSONRPCMessage): void {
  const version = 'result' in message ? message.result.protocolVersion : undefined
  if (typeof version === 'string') sandbox.setProtocolVersion(version)
}

function reasonOf(cause: unknown, url: string): string {
  const refusal: unknown = isObject(cause) && isObject(cause.data) ? cause.data.text : undefined
  const [, sentence] = /"error":"([^"]+)"/.exec(typeof refusal === 'string' ? refusal : '') ?? []
  return sentence ?? `The sandbox at ${url} does not answer. Is it still running?`
}
