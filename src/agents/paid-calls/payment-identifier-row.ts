import { DAY } from '../../storage/retention.js'
import { collection } from '../../storage/storage.js'

/** A payment that its payer named. The id is a digest of the payer's address and the name. */
export interface PaymentIdentifierRow {
  readonly id: string
  /** Digest of what the payment was for. The name stands for nothing else. */
  readonly terms: string
  readonly payment_id: number
  readonly created_at: number
}

export const paymentIdentifiers = collection<PaymentIdentifierRow>()(
  'payment_identifiers',
  { byTime: { fields: ['created_at'] } },
  {
    refs: { payment_id: 'payments' },
    growth: { by: 'whoever pays by x402 and names the payment', bound: 'One for each payment. It goes after a day.' },
    retention: { after: 'it paid', keepMs: DAY, index: 'byTime' },
  },
)
