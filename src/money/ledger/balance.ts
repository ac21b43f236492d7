import { collection, type Reader } from '../../storage/storage.js'

/** What a twin has of one digital quantity. It can spend `amount` minus `held`. */
export interface BalanceRow {
  readonly id: string
  readonly twin_id: number
  readonly dq: string
  /** Smallest units: the sum of the twin's entries. */
  readonly amount: string
  /** Smallest units of `amount` that open holds set aside. */
  readonly held: string
  /** Only for an issuer: smallest units of supply that are kept free for cards that are being charged. Default: 0. */
  readonly reserved?: string
  /** While a history is imported into the twin: nothing of it counts before all of it is there. Absent otherwise. */
  readonly importing?: true
}

export const balances = collection<BalanceRow>()(
  'balances',
  { byTwin: { fields: ['twin_id', 'dq'] } },
  {
    refs: { dq: 'digital_quantities', twin_id: 'twins' },
    growth: { by: 'the service', bound: 'One for each twin and digital quantity in which it has received value.' },
    retention: { forever: 'It is value.' },
  },
)

export const balanceId = (twinId: number, dq: string): string => `${twinId}:${dq}`

export const emptyBalance = (twinId: number, dq: string): BalanceRow => ({
  id: balanceId(twinId, dq),
  twin_id: twinId,
  dq,
  amount: '0',
  held: '0',
})

export const balanceOf = async (tx: Reader, twinId: number, dq: string): Promise<BalanceRow> =>
  (await tx.get(balances, balanceId(twinId, dq))) ?? emptyBalance(twinId, dq)

/** Smallest units that the twin can spend now. None while a history is imported. */
export const spendable = (balance: BalanceRow): bigint => (balance.importing ? 0n : unheld(balance))

/** Smallest units that no hold sets aside, of an imported history too. */
export const unheld = ({ amount, held }: BalanceRow): bigint => BigInt(amount) - BigInt(held)

/** Smallest units of an issuer's supply that are kept free for cards that are being charged. */
export const reserved = ({ reserved = '0' }: BalanceRow): bigint => BigInt(reserved)
