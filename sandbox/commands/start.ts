import { relative } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import picocolors from 'picocolors'
import { isLoopbackAddress, isLoopbackHost } from '../../src/base/loopback.js'
import { visibleLine } from '../../src/base/text/visible.js'
import { VERSION } from '../../src/base/version.js'
import type { Credentials } from '../../src/index.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import { outcomeOf } from '../../src/sandbox/tools/sandbox-tool.js'
import { openInBrowser } from '../browser.js'
import type { Settings } from '../config.js'
import { canReadKeys } from '../keys.js'
import { type RunningSandbox, startSandbox } from '../sandbox.js'
import { packageManagerEnded, stopSignal } from '../signals.js'
import { printFailure, printLine, printStyled, printToStderr } from '../terminal.js'
import { viewNames } from '../workbench/views.js'

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

/** How long lines wait for others, so that many are written at once. */
const TOGETHER_MS = 20
/** A line costs more than its request, and nobody reads as fast as a load test sends: so at most 200 a second. */
const AT_ONCE = 20
const REST_MS = 100
/** Requests that run at once end in any order, so a smaller gap means nothing. */
const GAP = 100

interface Terminal {
  readonly isTTY?: boolean | undefined
  readonly print: (text: string) => void
  readonly rest: (ms: number) => Promise<unknown>
}

const terminal: Terminal = { isTTY: process.stdout.isTTY, print: printStyled, rest: (ms) => pause(ms) }

/** Prints one line for each request as it ends, without those of the workbench. Under load, says how many it leaves out. */
export async function printRequests(
  requests: AsyncIterable<Entry>,
  { isTTY, print, rest }: Terminal = terminal,
): Promise<void> {
  // Without a terminal `isTTY` is undefined, not false, and picocolors would add colours in CI.
  const colours = picocolors.createColors(isTTY === true && picocolors.isColorSupported)
  let lines: string[] = []
  const flush = () => {
    if (lines.length > 0) print(lines.join(''))
    lines = []
  }
  const add = (line: string) => {
    if (lines.push(line) === 1) setTimeout(flush, TOGETHER_MS).unref()
  }
  let last: number | undefined
  let sinceRest = 0
  for await (const entry of requests) {
    const number = Number(entry.id.slice(entry.id.lastIndexOf('_') + 1))
    if (last !== undefined && number > last + GAP)
      add(
        `${colours.dim(`${(number - last - 1).toLocaleString('en')} requests are not shown. farthing requests lists the last ones.`)}\n`,
      )
    last = Math.max(last ?? 0, number)
    if (!('x-farthing-tool' in entry.request.headers)) add(lineOf(entry, colours))
    if (++sinceRest < AT_ONCE) continue
    sinceRest = 0
    flush()
    await rest(REST_MS)
  }
  flush()
}

function lineOf(entry: Entry, { bold, dim, red, green }: ReturnType<typeof picocolors.createColors>): string {
  const { at, method, path, operation_id, status, principal, ms } = entry
  const outcome = outcomeOf(entry)
  const paint = outcome === 'done' || (status !== null && status < 400) ? green : red
  const words = [dim(at.slice(11, 19)), method, bold(visibleLine(operation_id ?? path)), paint(visibleLine(outcome))]
  const rest = [principal ?? '', ms === null ? '' : `${ms.toFixed(1)} ms`].filter(Boolean).map(visibleLine)
  return `${[...words, ...rest.map(dim)].join('  ')}\n`
}
