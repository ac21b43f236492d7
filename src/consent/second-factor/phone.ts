import type { PushRow } from '../../base/message.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { collection, type Writer } from '../../storage/storage.js'

/** How the phone that a sandbox plays answers. `manual`: a control answers each request. `ignore`: nobody does. */
export type PhoneMode = 'manual' | 'approve' | 'reject' | 'ignore'

export interface PhoneRow {
  /** The user's id. */
  readonly id: number
  readonly mode: PhoneMode
  /** Delay before the answer, in milliseconds. */
  readonly after_ms: number
}

export const phones = collection<PhoneRow>()(
  'phones',
  {},
  {
    growth: { by: 'whoever controls the sandbox', bound: 'One for each user.' },
    retention: { forever: 'One for each user, and only in a sandbox.' },
  },
)

/** Kind of the timer with which a phone answers. Its subject is `approved:ID` or `rejected:ID`, with the id of the request. */
export const PHONE_ANSWERS = 'phone_answers'

/** Schedules the answer of a sandbox's phone to a push. */
export async function schedulePhoneAnswer(tx: Writer, { data }: PushRow, at: number): Promise<void> {
  const phone = await tx.get(phones, Number(data.user_id))
  if (phone?.mode !== 'approve' && phone?.mode !== 'reject') return
  const status = phone.mode === 'approve' ? 'approved' : 'rejected'
  const subject = `${status}:${data.authentication_request_id}`
  await setTimer(tx, { kind: PHONE_ANSWERS, subject, at: at + phone.after_ms, now: at })
}
