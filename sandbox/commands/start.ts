import { relative } from 'node:path'
import picocolors from 'picocolors'
import { isLoopbackAddress, isLoopbackHost } from '../../src/base/loopback.js'
import { visibleLine } from '../../src/base/text/visible.js'
import { VERSION } from '../../src/base/version.js'
import type { Credentials } from '../../src/index.js'
import { openInBrowser } from '../browser.js'
import type { Settings } from '../config.js'
import { canReadKeys } from '../keys.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { packageManagerEnded, stopSignal } from '../signals.js'
import { printFailure, printLine, printStyled, printToStderr } from '../terminal.js'
import { viewNames } from '../workbench/views.js'
import { printRequests } from './request-lines.js'

/** Serves until a signal to stop, or until the package manager that started it has ended. */
export async function start(settings: Settings): Promise<void> {
  const stopped = Promise.race([stopSignal(), packageManagerEnded()])
  const sandbox = await startSandbox(settings, { warn: printToStderr })
  const isTalking = !settings.json && !settings.quiet
  const hasKeys = isTalking && process.stdout.isTTY && canReadKeys(process.stdin)
  if (settings.json) printLine(asJson(sandbox, settings))
  else printStyled(asText(sandbox, settings, { isTerminal: process.stdout.isTTY, hasKeys }))
  if (isTalking) void printRequests(sandbox.requests()).catch(printFailure)
  const page = dashboardOf(sandbox, settings)
  if (settings.open) openInBrowser(page)
  const restore = hasKeys ? await (await import('./terminal-keys.js')).takeKeys(sandbox, page) : undefined
  await stopped
  restore?.()
  await sandbox.close()
}

export function asJson(sandbox: RunningSandbox, { data, host }: Settings): string {
  const { url, credentials, controlToken } = sandbox
  const dashboard = dashboardOf(sandbox, { host })
  const fields = { url, dashboard, version: VERSION, pid: process.pid, data: data ?? null, control_token: controlToken }
  return JSON.stringify({ ...fields, ...credentials })
}

/** Describes a running sandbox for people, in colour on a terminal. Only the colours are unseen characters. */
export function asText(
  sandbox: RunningSandbox,
  { data, database, host }: Settings,
  { isTerminal, hasKeys = false }: { readonly isTerminal?: boolean | undefined; readonly hasKeys?: boolean },
): string {
  const { url, credentials, controlToken } = sandbox
  // Without a terminal `isTTY` is undefined, not false, and picocolors would add colours in CI.
  const colours = picocolors.createColors(isTerminal === true && picocolors.isColorSupported)
  const visibly = (paint: (text: string) => string) => (text: string) => paint(visibleLine(text))
  const { bold, cyan, dim } = { bold: visibly(colours.bold), cyan: visibly(colours.cyan), dim: visibly(colours.dim) }
  const rows = (fields: Readonly<Record<string, string>>) =>
    Object.entries(fields).map(([name, value]) => `  ${dim(name.padEnd(LABEL))}${value}`)
  const addresses = {
    address: cyan(url),
    workbench: cyan(dashboardOf(sandbox, { host })),
    views: cyan(viewNames.map((view) => `/#/${view}`).join('  ')),
    shop: cyan(`${url}/shop`),
    phone: cyan(`${url}/phone`),
    outbox: cyan(`${url}/outbox`),
    errors: cyan(`${url}/docs/errors`),
    openapi: cyan(`${url}/v4/openapi.json`),
    mcp: cyan(`${url}/mcp`),
    data: data !== undefined ? visibleLine(displayPath(data)) : database === undefined ? 'in memory' : 'in PostgreSQL',
    control_token: visibleLine(controlToken),
  }
  const people = peopleOf(credentials)
  const blocks = [
    [`${bold('farthing')} ${VERSION} is listening`, ...rows(addresses)],
    ...people.map(({ title, fields }) => [bold(title), ...rows(fields)]),
    ...(sandbox.isOfOtherSeed ? [OTHER_SEED] : []),
    [dim(hasKeys ? KEYS : 'Press Ctrl+C to stop.')],
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

/** The dashboard's address, with the control token if it needs that. The page keeps it in a cookie of its own. */
export const dashboardOf = (
  { url, controlToken, isGuarded }: RunningSandbox,
  { host }: Pick<Settings, 'host'>,
): string => (isGuarded || !isLoopback(host) ? `${url}/?control_token=${encodeURIComponent(controlToken)}` : `${url}/`)

const isLoopback = (host: string): boolean => isLoopbackHost(host) || isLoopbackAddress(host)
const OTHER_SEED = [
  'The stored state began with another seed, so credentials of this one may be missing.',
  'To begin with this seed, run farthing reset, or start with --fresh. What is stored is lost then.',
]
const KEYS = 'Press o to open the workbench, e to explain the last error, c for the last code, r to reset, q to quit.'
const LABEL = 'client_secret  '.length

const peopleOf = ({ accounts, users }: Credentials) => [
  ...accounts.map(({ name, ...fields }) => ({ title: `Account ${name}`, fields: visible(fields) })),
  ...users.map(({ email, code, ...fields }) => ({
    title: `User ${email}`,
    fields: visible({ ...(code !== undefined && { 'sign-in code': code }), ...fields }),
  })),
]

const visible = (fields: object): Record<string, string> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, visibleLine(String(value))]))

function displayPath(file: string): string {
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}
