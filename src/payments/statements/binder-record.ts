/** A record of value received or sent, or of a delegate received (Micro Payment Service Interface, section 2). */
export interface BinderRecord {
  readonly timestamp: string
  readonly fileAction: 'receive' | 'send'
  /** The hash of the delegate or the movement. A movement has the same hash in both binders. */
  readonly fileIdentity: string
  /** The digital quantity. Empty for a delegate. */
  readonly fileType: string
  /** Null for a delegate. */
  readonly amount: number | null
  /** On a `receive`, the whole address of the payer's or the persona's twin. Otherwise empty. */
  readonly fromAddress: string
  /** On a `send`, the whole address of the payee's twin. Otherwise empty. */
  readonly destinationAddress: string
}

export type BinderColumn = keyof BinderRecord

export const binderColumns = [
  'timestamp',
  'fileAction',
  'fileIdentity',
  'fileType',
  'amount',
  'fromAddress',
  'destinationAddress',
] as const satisfies readonly BinderColumn[]
