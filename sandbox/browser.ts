import { spawn } from 'node:child_process'
import { printToStderr } from './terminal.js'

/** Opens a page in the browser of the desktop, or says how to. */
export function openInBrowser(url: string): void {
  const [command = 'xdg-open', ...args] = openers[process.platform] ?? []
  const opener = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  opener.once('error', () => printToStderr(`cannot open a browser: open ${url} yourself`))
  opener.unref()
}

const openers: Readonly<Record<string, readonly string[]>> = { darwin: ['open'], win32: ['cmd', '/c', 'start', ''] }
