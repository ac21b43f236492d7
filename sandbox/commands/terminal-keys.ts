import { spawn } from 'node:child_process'
import { openInBrowser } from '../browser.js'
import { type KeyInput, readKeys } from '../keys.js'
import { Refusal } from '../refusal.js'
import type { RunningSandbox } from '../sandbox.js'
import { printFailure, printLine, printText, printToStderr } from '../terminal.js'
import { explain } from './journal.js'

export interface KeysOptions {
  readonly input?: KeyInput
  readonly copy?: (text: string) => Promise<boolean>
  readonly open?: (page: string) => unknown
}

/** Takes the keys of a sandbox that runs in a terminal. Returns what restores the terminal. `page`: the workbench. */
export function takeKeys(
  sandbox: Pick<RunningSandbox, 'url' | 'service'>,
  page: string,
  { input = process.stdin, copy = copyText, open = openInBrowser }: KeysOptions = {},
): () => void {
  const { url, service } = sandbox
  let isAsked = false
  const actions: Readonly<Record<string, () => unknown>> = {
    o: () => open(page),
    e: () => explain('last-error', { url }, { fetch: service.fetch, environment: {}, print: printLine, printText }),
    c: () => printLastCode(sandbox, copy),
    r: () => {
      isAsked = true
      printLine('Reset to the seed? All that is stored here is lost. Press y to reset, any other key to keep it.')
    },
    q: () => process.emit('SIGINT'),
  }
  const answer = async (key: string) => {
    isAsked = false
    if (key !== 'y') return printLine('Nothing is reset.')
    await service.sandbox.reset()
    printLine(`${url} is reset to its seed.`)
  }
  let last: Promise<unknown> = Promise.resolve()
  return readKeys(input, (key) => {
    const act = async () => (isAsked ? answer(key) : actions[key]?.())
    last = last
      .then(act)
      .catch((error) => (error instanceof Refusal ? printToStderr(error.message) : printFailure(error)))
  })
}

async function printLastCode(
  { url, service }: Pick<RunningSandbox, 'url' | 'service'>,
  copy: (text: string) => Promise<boolean>,
) {
  const { messages } = await service.sandbox.outbox({ limit: 100 })
  const mail = messages.find(({ codes }) => codes.length > 0)
  const [code] = mail?.codes ?? []
  if (mail === undefined || code === undefined)
    return printLine(`No code was sent yet. Sign in at ${url}/shop, or call POST /v4/session/code.`)
  printLine(`${code} for ${mail.to}${(await copy(code)) ? ' (copied)' : ''}`)
}

const copiers: Readonly<Record<string, readonly (readonly string[])[]>> = { darwin: [['pbcopy']], win32: [['clip']] }
const otherCopiers = [['wl-copy'], ['xclip', '-selection', 'clipboard'], ['xsel', '--clipboard', '--input']]

/** Copies a text to the clipboard of the desktop. Returns whether it is there. */
async function copyText(text: string): Promise<boolean> {
  for (const [command = '', ...args] of copiers[process.platform] ?? otherCopiers)
    if (await copyWith(command, args, text)) return true
  return false
}

const COPY_MS = 2000

const copyWith = (command: string, args: readonly string[], text: string): Promise<boolean> =>
  new Promise((resolve) => {
    const copier = spawn(command, args, { stdio: ['pipe', 'ignore', 'ignore'], timeout: COPY_MS })
    copier.once('error', () => resolve(false))
    // What serves the clipboard stays, in a process of its own.
    copier.once('exit', (code) => resolve(code === 0))
    copier.stdin.once('error', () => {})
    copier.stdin.end(text)
  })
