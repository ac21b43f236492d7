/** Exactly what the user sees and approves: payee, amount, digital quantity and so on. */
export type Detail = Readonly<Record<string, unknown>>

/** Later payments that a user approves: each to this payee, in this digital quantity, and up to this amount. */
export interface StandingTerms {
  readonly payee_twin_id: number
  readonly dq: string
  /** In smallest units. */
  readonly amount: string
}
