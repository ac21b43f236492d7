import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { Email, z } from '../../http/fields/schema.js'
import { userByEmail } from '../../identity/users/user.js'
import { peopleControls } from '../controls/people-controls.js'
import { faultControls } from '../controls/sandbox.js'
import type { Seeded } from '../controls/seed/seed.js'
import { SeedSchema } from '../controls/seed/seed-schema.js'
import { serviceControls } from '../controls/service-controls.js'
import {
  ClockChangeShape,
  FaultShape,
  FundOrderShape,
  OutboxQueryShape,
  PhoneModeShape,
  RewindShape,
  wrongField,
} from '../controls/shapes.js'
import { snapshotControls, stateControls } from '../controls/state-controls.js'
import { sandboxOf } from '../onion/context.js'
import { journalTools } from './journal-tools.js'
import { cutText, orNone, type SandboxTool, type SandboxToolAnswer, sandboxTool } from './sandbox-tool.js'

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

const stateTools: readonly SandboxTool[] = [seed, fund, clock, ledger, armFault, fork, rewind]

const outbox = sandboxTool({
  name: 'outbox',
  title: 'Read mails and pushes',
  description:
    'Lists what left the service, newest first, with the codes and links in it: the code of a sign-in, a claim of a transfer.',
  input: OutboxQueryShape,
  hints: { reads: true },
  async call({ limit = 5, ...query }, service) {
    const { messages, next } = await peopleControls(service).outbox({ ...query, limit })
    const lines = messages.map(({ kind, to, subject, codes, links }) => {
      const found = [...codes.map((code) => `code ${code}`), ...links.map((link) => `link ${link}`)]
      return [`${kind} to ${to}: ${cutText(String(subject), 100)}`, ...found].join(', ')
    })
    return { lines: orNone(lines, 'There is no message that matches.'), structured: { messages, next } }
  },
})

const AnswerPhoneShape = z.strictObject({
  email: z.optional(Email),
  user_id: z.optional(z.int()),
  answer: z.optional(z.enum(['approve', 'reject'])),
  mode: z.optional(PhoneModeShape),
  after_seconds: z.optional(z.number()),
  approval_id: z.optional(z.string()),
})

const answerPhone = sandboxTool({
  name: 'answer_phone',
  title: "Play the user's phone",
  description:
    "Approves or rejects what waits for a user: answer for all authentication requests that are pending, or with approval_id for an agent's request. mode sets how the phone answers from now on. Without answer and mode, shows what is pending. Name the user by email or user_id.",
  input: AnswerPhoneShape,
  async call(args, service) {
    if (args.approval_id !== undefined) return answerApprovalOf(args.approval_id, args, service)
    const id = args.user_id ?? (await idOf(args.email, service))
    const phone = peopleControls(service).phone(id)
    const { answer, mode, after_seconds } = args
    const set = mode === undefined ? undefined : await phone.answer({ mode, after_seconds })
    const answered = answer === undefined ? undefined : await phone[answer]()
    const shown = await phone.read()
    const lines = [
      ...(answered ? [`${answer === 'approve' ? 'Approved' : 'Rejected'}: ${answered.requests.length}.`] : []),
      ...(set ? [`From now on, the phone answers: ${set.mode}.`] : []),
      `Pending for user:${id}: ${shown.requests.length}. The phone answers: ${shown.mode}.`,
    ]
    return { lines, structured: { ...shown, ...(answered && { answered: answered.requests }) } }
  },
})

async function answerApprovalOf(
  id: string,
  { answer }: z.output<typeof AnswerPhoneShape>,
  service: ServiceContext,
): Promise<SandboxToolAnswer> {
  if (answer === undefined) throw wrongField('answer', 'is missing: send it with "approval_id".')
  const approval = await peopleControls(service)[answer](id)
  return { lines: [`${approval.summary}: ${approval.status}.`], structured: approval }
}

async function idOf(email: string | undefined, { storage }: ServiceContext): Promise<number> {
  if (email === undefined)
    throw problem('field_invalid', { detail: 'Name the user by "email" or "user_id".', fields: { field: 'email' } })
  const user = await storage.read((tx) => userByEmail(tx, email))
  if (!user) throw problem('not_found', { detail: `No user has the email ${email}.` })
  return user.id
}

const docsSearch = sandboxTool({
  name: 'docs_search',
  title: 'Search the documentation',
  description:
    'Finds operations, error codes and parts of the guides by words, an operation id or an error code, best first. Works offline.',
  input: z.strictObject({
    query: z.string().check(z.minLength(1), z.maxLength(200)),
    limit: z.optional(z.int().check(z.minimum(1), z.maximum(10))),
  }),
  hints: { reads: true },
  async call({ query, limit = 5 }, service) {
    const { searchDocs } = await load(() => import('./docs-search.js'))
    const results = searchDocs(query, { limit, routes: await sandboxOf(service).loadRoutes(), service })
    const lines = results.map(({ title, text, at }) => `${title}: ${text} (${at})`)
    const none = 'Nothing in the documentation matches. Try fewer or other words.'
    return { lines: orNone(lines, none), structured: { results } }
  },
})

/** Every tool for coding agents, in the order in which they are listed. */
export const sandboxTools: readonly SandboxTool[] = [...journalTools, ...stateTools, outbox, answerPhone, docsSearch]
