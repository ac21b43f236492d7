import { load } from '../../base/load.js'
import type { SecondFactorAnswer } from '../../consent/second-factor/answer.js'
import type { ServiceContext } from '../../http/context.js'
import { checkShape } from '../../http/fields/field.js'
import { approvalQueue } from './approvals.js'
import { emptyInbox, readInbox } from './inbox.js'
import type { Phone, PhoneRequest, Sandbox } from './sandbox.js'
import { OutboxQueryShape, PhoneAnswerShape, PhoneRequestShape, SignInShape } from './shapes.js'

type PeopleControls = Pick<Sandbox, 'signIn' | 'phone' | 'approve' | 'reject' | 'outbox' | 'emptyOutbox'>

/** The controls that play people, and read their mail. `ready` resolves when the start has restored state and clock. */
export function peopleControls(service: ServiceContext, ready: () => Promise<void> = async () => {}): PeopleControls {
  const { storage } = service
  const decide = async (id: string, decision: 'approved' | 'rejected') => {
    const { answerApproval } = await load(() => import('./approval.js'))
    await ready()
    return storage.write((tx) => answerApproval(tx, { id, decision }, service))
  }
  return {
    async signIn(email) {
      const given = checkShape(SignInShape, typeof email === 'object' ? email : { email })
      const { signInAsUser } = await load(() => import('./sign-in.js'))
      await ready()
      return storage.write((tx) => signInAsUser(tx, given, service))
    },
    phone: (userId) => phoneOf(userId, service, ready),
    approve: (id) => decide(id, 'approved'),
    reject: (id) => decide(id, 'rejected'),
    async outbox(query = {}) {
      const given = checkShape(OutboxQueryShape, query)
      await ready()
      return storage.read((tx) => readInbox(tx, given))
    },
    async emptyOutbox() {
      await ready()
      await storage.write(emptyInbox)
    },
  }
}

/** The approvals that agents request, in order. */
export const approvalsOf = (service: ServiceContext, ready: () => Promise<void>): Sandbox['approvals'] =>
  approvalQueue(service, peopleControls(service, ready))

function phoneOf(userId: number, service: ServiceContext, ready: () => Promise<void>): Phone {
  const { storage } = service
  const answer = async (request: PhoneRequest = {}, given: SecondFactorAnswer) => {
    const { id } = checkShape(PhoneRequestShape, typeof request === 'object' ? request : { id: request })
    const { answerOnPhone } = await loadPhone()
    await ready()
    return storage.write((tx) => answerOnPhone(tx, { userId, id, answer: given }, service))
  }
  return {
    async answer(given, options = {}) {
      const { mode, after_seconds: afterSeconds } = checkShape(PhoneAnswerShape, phoneAnswer(given, options))
      const { setPhone } = await loadPhone()
      await ready()
      return storage.write((tx) => setPhone(tx, { userId, mode, afterSeconds }, service))
    },
    async read() {
      const { readPhone } = await loadPhone()
      await ready()
      return storage.read((tx) => readPhone(tx, userId, service))
    },
    approve: (request) => answer(request, 'approved'),
    reject: (request) => answer(request, 'rejected'),
  }
}

const loadPhone = () => load(() => import('./phone.js'))

function phoneAnswer(
  answer: Parameters<Phone['answer']>[0],
  { afterSeconds, ...unknown }: { afterSeconds?: number | undefined },
) {
  return { ...(typeof answer === 'object' ? answer : { mode: answer, after_seconds: afterSeconds }), ...unknown }
}
