import { relative } from 'node:path'
import picocolors from 'picocolors'
import { isLoopbackAddress, isLoopbackHost } from '../src/base/loopback.js'
import { VERSION } from '../src/base/version.js'
import type { Credentials } from '../src/index.js'
import type { Settings } from './config.js'
import type { RunningSandbox } from './sandbox.js'

/** Describes a running sandbox as one line of JSON: its address and the seeded credentials. */
export function asJson({ url, credentials, controlToken }: RunningSandbox, { data }: Settings): string {
  const dashboard = `${url}/`
  const fields = { url, dashboard, version: VERSION, pid: process.pid, data: data ?? null, control_token: controlToken }
  return `${JSON.stringify({ ...fields, ...credentials })}\n`
}

/** Describes a running sandbox for people, in colour on a terminal. */
export function asText(
  { url, credentials, controlToken }: RunningSandbox,
  { data, database, seed, host }: Settings,
  isTerminal: boolean | undefined,
): string {
  // Without a terminal `isTTY` is undefined, not false, and picocolors would add colours in CI.
  const { bold, cyan, dim } = picocolors.createColors(isTerminal === true && picocolors.isColorSupported)
  const rows = (fields: object) =>
    Object.entries(fields).map(([name, value]) => `  ${dim(name.padEnd(LABEL))}${String(value)}`)
  const addresses = {
    address: cyan(url),
    // From another machine the dashboard needs the token.
    dashboard: cyan(isLoopback(host) ? `${url}/` : `${url}/?control_token=${encodeURIComponent(controlToken)}`),
    mcp: cyan(`${url}/mcp`),
    data: data !== undefined ? displayPath(data) : database === undefined ? 'in memory' : 'in PostgreSQL',
    control_token: controlToken,
  }
  const people = peopleOf(credentials)
  const blocks = [
    [`${bold('farthing')} ${VERSION} is listening`, ...rows(addresses)],
    ...people.map(({ title, ...fields }) => [bold(title), ...rows(fields)]),
    ...(people.length === 0 && seed !== 'none'
      ? [['The stored state began with another seed, so these are not its credentials.']]
      : []),
    [dim('Press Ctrl+C to stop.')],
  ]
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

const isLoopback = (host: string): boolean => isLoopbackHost(host) || isLoopbackAddress(host)

const LABEL = 'client_secret  '.length

const peopleOf = ({ accounts, users }: Credentials): { title: string }[] => [
  ...accounts.map(({ name, ...fields }) => ({ title: `Account ${name}`, ...fields })),
  ...users.map(({ email, code, ...fields }) => ({
    title: `User ${email}`,
    ...(code !== undefined && { 'sign-in code': code }),
    ...fields,
  })),
]

/** Relative if the file is below the working directory. */
function displayPath(file: string): string {
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}
