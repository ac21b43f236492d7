interface NamedAccount {
  readonly id: number
  readonly name: string
}

/** The business accounts that an app may be granted, as `Choices` shows them: the field `account` is `none` or an id. */
export const accountChoiceFields = (accounts: readonly NamedAccount[], granted: number | null) => ({
  field: 'account',
  legend: 'Business account',
  note: 'The app may look after the one that you pick, and propose changes to it.',
  options: [
    { value: 'none', label: 'None' },
    ...accounts.map((account) => ({ value: String(account.id), label: labelOf(account, accounts) })),
  ],
  chosen: String(granted),
})

/** Names need not differ: those that do not are told apart by their numbers. */
const labelOf = ({ id, name }: NamedAccount, all: readonly NamedAccount[]): string =>
  all.some((other) => other.id !== id && other.name === name) ? `${name} (${id})` : name
