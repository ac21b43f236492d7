import { relative } from 'node:path'
import picocolors from 'picocolors'
import { isLoopbackAddress, isLoopbackHost } from '../src/base/loopback.js'
import { VERSION } from '../src/base/version.js'
import type { Credentials } from '../src/index.js'
import type { Settings } from './config.js'
import type { RunningSandbox } from './sandbox.js'

/** One line of JSON: where it listens, and the credentials that work. */
export function asJson({ url, credentials, controlToken }: RunningSandbox, { data }: Settings): string {
  const dashboard = `${url}/`
  const told = { url, dashboard, version: VERSION, pid: process.pid, data: data ?? null, control_token: controlToken }
  return `${JSON.stringify({ ...told, ...credentials })}\n`
}

/** The same for people; coloured on a terminal. */
export function asText(
  { url, credentials, controlToken }: RunningSandbox,
  { data, seed, host }: Settings,
  isTerminal: boolean | undefined,
): string {
  // Where it is no terminal, `isTTY` is absent rather than false, and CI would be given colours.
  const { bold, cyan, dim } = picocolors.createColors(isTerminal === true && picocolors.isColorSupported)
  const rows = (fields: object) =>
    Object.entries(fields).map(([name, value]) => `  ${dim(name.padEnd(LABEL))}${String(value)}`)
  const where = {
    address: cyan(url),
    // Seen from elsewhere, it needs the token.
    dashboard: cyan(isLoopback(host) ? `${url}/` : `${url}/?control_token=${encodeURIComponent(controlToken)}`),
    mcp: cyan(`${url}/mcp`),
    data: data === undefined ? 'in memory' : shown(data),
    control_token: controlToken,
  }
  const people = peopleOf(credentials)
  const blocks = [
    [`${bold('farthing')} ${VERSION} listens`, ...rows(where)],
    ...people.map(({ title, ...fields }) => [bold(title), ...rows(fields)]),
    ...(people.length === 0 && seed !== 'none'
      ? [['The data was not begun with this seed: its credentials are not here.']]
      : []),
    [dim('Ctrl+C stops it.')],
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

/** Short where it is below the working directory. */
function shown(file: string): string {
  const path = relative('', file)
  return path.startsWith('..') ? file : path
}
