import { load } from '../../base/parts.js'
import { problem } from '../../base/problem.js'
import type { ServiceContext } from '../../http/context.js'
import { Email, z } from '../../http/fields/schema.js'
import { userByEmail } from '../../identity/users/user.js'
import { peopleControls } from '../controls/people-controls.js'
import { OutboxQueryShape, PhoneModeShape, wrongField } from '../controls/shapes.js'
import { sandboxOf } from '../onion/context.js'
import { cutText } from './brief.js'
import { journalTools } from './journal-tools.js'
import { orNone, type SandboxTool, type SandboxToolAnswer, sandboxTool } from './sandbox-tool.js'
import { stateTools } from './state-tools.js'

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
