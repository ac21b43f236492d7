import { asJson, asText, dashboardOf } from '../announce.js'
import type { Settings } from '../config.js'
import { packageManagerEnded } from '../parent.js'
import { startSandbox } from '../sandbox.js'
import { stopSignal } from '../signals.js'
import { printLine, printStyled, printToStderr } from '../terminal.js'

/** Serves until a signal to stop, or until the package manager that started it has ended. */
export async function start(settings: Settings): Promise<void> {
  const stopped = Promise.race([stopSignal(), packageManagerEnded()])
  const sandbox = await startSandbox(settings, { warn: printToStderr })
  if (settings.json) printLine(asJson(sandbox, settings))
  else printStyled(asText(sandbox, settings, process.stdout.isTTY))
  if (settings.open) await openInBrowser(dashboardOf(sandbox, settings))
  await stopped
  await sandbox.close()
}

async function openInBrowser(url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const [command, ...args] = openers[process.platform] ?? LINUX
  const opener = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  opener.once('error', () => printToStderr(`cannot open a browser: open ${url} yourself`))
  opener.unref()
}

type Opener = readonly [command: string, ...args: string[]]

const LINUX: Opener = ['xdg-open']

const openers: Partial<Record<NodeJS.Platform, Opener>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}
