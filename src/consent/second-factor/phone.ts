import type { PushRow } from '../../base/message.js'
import { setTimer } from '../../jobs/schedule/timer.js'
import { collection, type Writer } from '../../storage/storage.js'

/** How a user answers on the phone that a sandbox plays: `manual` waits to be told each time, `ignore` never answers. */
export type PhoneMode = 'manual' | 'approve' | 'reject' | 'ignore'

export interface PhoneRow {
  /** The user's. */
  readonly id: number
  readonly mode: PhoneMode
  /** How long the user takes to answer. */
  readonly after_ms: number
}

export const phones = collection<PhoneRow>()('phones', {})

/** The kind of timer by which a phone answers; its subject is `approved:ID` or `rejected:ID` of the request. */
export const PHONE_ANSWERS = 'phone_answers'

/** A sandbox's phone gets a push, and answers as it was told to by then. */
export async function schedulePhoneAnswer(tx: Writer, { data }: PushRow, at: number): Promise<void> {
  const phone = await tx.get(phones, Number(data.user_id))
  if (phone?.mode !== 'approve' && phone?.mode !== 'reject') return
  const status = phone.mode === 'approve' ? 'approved' : 'rejected'
  const subject = `${status}:${data.authentication_request_id}`
  await setTimer(tx, { kind: PHONE_ANSWERS, subject, at: at + phone.after_ms })
}
