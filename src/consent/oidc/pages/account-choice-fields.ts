interface NamedAccount {
  readonly id: number
  readonly name: string
}

/** The business accounts that a user can grant an app, for `Choices`. The field `account` is `none` or an id. */
export const accountChoiceFields = (accounts: readonly NamedAccount[], granted: number | null) => ({
  field: 'account',
  legend: 'Business account',
  note: 'The app can read the account that you pick, and propose changes to it.',
  options: [
    { value: 'none', label: 'None' },
    ...accounts.map((account) => ({ value: String(account.id), label: labelOf(account, accounts) })),
  ],
  chosen: String(granted),
})

/** Adds the id to names that occur more than once. */
const labelOf = ({ id, name }: NamedAccount, all: readonly NamedAccount[]): string =>
  all.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name
