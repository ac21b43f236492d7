import { setTimeout as pause } from 'node:timers/promises'
import picocolors from 'picocolors'
import { visibleLine } from '../../src/base/text/visible.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'
import { outcomeOf } from '../../src/sandbox/tools/sandbox-tool.js'
import { printStyled } from '../terminal.js'

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

const terminal: Terminal = {
  isTTY: process.stdout.isTTY,
  print: printStyled,
  rest: (ms) => pause(ms),
}

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
