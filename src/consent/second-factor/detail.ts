/** What is approved, exactly as the user is shown it: payee, amount, digital quantity and so on. */
export type Detail = Readonly<Record<string, unknown>>
