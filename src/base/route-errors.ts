/** Codes that several operations throw together: of a card, of a mailed code, of an agent's approval, and so on. */
const card = ['too_many_declines', 'too_many_charges', 'card_declined', 'processor_failed'] as const
const code = [
  'too_many_codes',
  'code_wrong',
  'code_expired',
  'too_many_tries',
  'too_many_pending',
  'too_many_mails',
] as const
const approval = ['approval_required', 'approval_not_given', 'approval_spent', 'approval_mismatch'] as const
const delegate = ['delegate_required', 'delegate_refused'] as const
const item = ['item_inactive', 'arguments_refused', 'schema_refused'] as const

export const ERRORS = { card, code, approval, delegate, item } as const
