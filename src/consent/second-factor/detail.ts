/** Exactly what the user sees and approves: payee, amount, digital quantity and so on. */
export type Detail = Readonly<Record<string, unknown>>
