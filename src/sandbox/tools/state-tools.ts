import { z } from '../../http/fields/schema.js'
import { faultControls } from '../controls/requests.js'
import type { Seeded } from '../controls/seed/seed.js'
import { SeedSchema } from '../controls/seed/seed-schema.js'
import { serviceControls } from '../controls/service-controls.js'
import { ClockChangeShape, FaultShape, FundOrderShape, RewindShape } from '../controls/shapes.js'
import { snapshotControls } from '../controls/snapshots/controls.js'
import { stateControls } from '../controls/state-controls.js'
import { sandboxOf } from '../onion/context.js'
import { cutText } from './brief.js'
import { type SandboxTool, sandboxTool } from './sandbox-tool.js'

const MOST_LINES = 10

const seed = sandboxTool({
  name: 'seed',
  title: 'Create test data',
  description:
    'Creates accounts, users, twins, commodities and items in one step, or nothing, and shows their credentials. Example: {"accounts":[{"name":"Shop"}],"users":[{"email":"ada@example.test","balance":5}],"commodities":[{"account":"Shop","descriptor":"Article","cost":0.25}]}',
  input: SeedSchema,
  async call(given, service) {
    const seeded = await stateControls(service).seed(given)
    return { lines: linesOfSeed(seeded), structured: seeded }
  },
})

function linesOfSeed({ accounts, users, commodities, items, twins }: Seeded): string[] {
  const lines = [
    ...accounts.map(
      ({ id, name, public_secret, client_id, client_secret, twin }) =>
        `account:${id} "${name}": client_id ${client_id}, client_secret ${client_secret}, public_secret ${public_secret}, twin ${twin.hostname}`,
    ),
    ...users.map(
      ({ id, email, client_id, client_secret, twin }) =>
        `user:${id} ${email}: client_id ${client_id}, client_secret ${client_secret}, twin ${twin.hostname} with ${twin.balance}`,
    ),
    ...twins.map(({ hostname, balance }) => `twin ${hostname} with ${balance}`),
    ...commodities.map(({ hash, descriptor, cost }) => `commodity ${hash} "${descriptor}" at ${cost}`),
    ...items.map(({ id, name, price }) => `item ${id} "${name}" at ${price}`),
  ]
  const left = lines.length - MOST_LINES
  return [
    lines.length === 0 ? 'The seed was empty.' : 'Created:',
    ...lines.slice(0, MOST_LINES),
    ...(left > 0 ? [`and ${left} more.`] : []),
  ]
}

const fund = sandboxTool({
  name: 'fund',
  title: 'Issue value to a twin',
  description:
    'Issues test value to the twin with this hostname, in its digital quantity, or to an address of x402 and MPP (0x…), in USDC.',
  input: FundOrderShape,
  async call(order, service) {
    const funded = await stateControls(service).fund(order)
    return {
      lines: [`Issued ${order.amount} to ${order.email ?? order.address ?? order.hostname}.`],
      structured: funded,
    }
  },
})

const clock = sandboxTool({
  name: 'clock',
  title: 'Read or move the clock',
  description:
    'Without arguments, reads the clock. advance moves it ("15m", "2d"), and timers that fall due run. set takes a time. mode "manual" stops it. Send one of them.',
  input: ClockChangeShape,
  async call(change, service) {
    const isRead = Object.values(change).every((value) => value === undefined)
    const shown = isRead ? serviceControls(service).clock() : await serviceControls(service).setClock(change)
    return { lines: [`It is ${shown.now}. The clock is ${shown.mode}.`], structured: shown }
  },
})

const ledger = sandboxTool({
  name: 'ledger',
  title: 'Audit the ledger',
  description: 'Checks every rule of the ledger, and shows what each digital quantity issued, holds and reserves.',
  input: z.strictObject({}),
  hints: { reads: true },
  async call(_args, service) {
    const audit = await stateControls(service).ledger()
    const { broken, movements } = audit
    const quantities = audit.digital_quantities.slice(0, MOST_LINES).map(({ dq, issued, balances, held }) => {
      return `${dq}: issued ${issued}, balances ${balances}, held ${held}`
    })
    const kept = `The ledger keeps its rules, with ${movements} movements.`
    return { lines: [broken ? `The ledger is broken: ${broken.rule}.` : kept, ...quantities], structured: audit }
  },
})

const armFault = sandboxTool({
  name: 'arm_fault',
  title: 'Make calls fail on purpose',
  description:
    'Makes matching calls fail, to test how the code copes. match names the calls, at when, do what happens. Example: {"match":{"operation_id":"createPayment"},"at":"after_commit","do":{"drop":true},"times":1} loses the answer of one payment that was made. Send times, or it happens until a reset.',
  input: FaultShape,
  async call(fault, service) {
    const armed = await faultControls(service).arm(fault)
    const { id, times } = armed
    const often = times === undefined ? 'each time' : `${times} times`
    return { lines: [`Armed ${id}, ${often}. DELETE /_sandbox/faults/${id} disarms it.`], structured: armed }
  },
})

const fork = sandboxTool({
  name: 'fork',
  title: 'Fork the sandbox',
  description:
    'Makes a second sandbox with the same state, at a URL of its own. Try a risky change there: the first one keeps its state.',
  input: z.strictObject({}),
  async call(_args, service) {
    const forked = await sandboxOf(service).forks.create()
    const { id, url } = forked
    const line = `The fork answers at ${url}, and its tools at ${url}/_sandbox/mcp.`
    return { lines: [line, `DELETE /_sandbox/forks/${id} ends it.`], structured: forked }
  },
})

const rewind = sandboxTool({
  name: 'rewind',
  title: 'Go back to an earlier state',
  description:
    'Sets the whole state back to what it was right after an entry of the journal, by its id, or to a named snapshot. What happened since is lost, so fork first to keep it.',
  input: RewindShape,
  hints: { spends: true, repeats: true },
  async call({ to }, service) {
    await snapshotControls(service).rewind(to)
    return { lines: [`The state is that of ${cutText(to, 100)} again.`], structured: { to } }
  },
})

export const stateTools: readonly SandboxTool[] = [seed, fund, clock, ledger, armFault, fork, rewind]
