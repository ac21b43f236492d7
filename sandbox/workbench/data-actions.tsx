import { signal } from '@preact/signals'
import { call } from './api.js'
import { Button, Dialog, Field } from './parts.js'
import { act, names, tell } from './state.js'

type Form = 'fund' | 'person' | 'article' | 'sign-in'

/** The form that is open. Commands open it, too. */
export const openForm = signal<Form | undefined>(undefined)

/** What people do to data by hand. */
export const DataActions = () => (
  <p class="acts">
    {(Object.keys(forms) as Form[]).map((form) => (
      <Button kind="plain" key={form} onClick={() => (openForm.value = form)}>
        {forms[form].title}
      </Button>
    ))}
  </p>
)

/** The open form. It is part of the page, not of a view. */
export function OpenForm() {
  const open = openForm.value
  if (open === undefined) return null
  const { title, submit, Fields, send } = forms[open]
  return (
    <Dialog key={open} title={title} submit={submit} onSubmit={send} onClose={() => (openForm.value = undefined)}>
      <Fields />
      <datalist id="people">{list('user:')}</datalist>
      <datalist id="sellers">{list('account:')}</datalist>
    </Dialog>
  )
}

const list = (kind: string) =>
  [...names.value].flatMap(([principal, name]) =>
    principal.startsWith(kind) ? [<option key={principal} value={name} />] : [],
  )

async function newPerson(email: string, balance: string, done: string): Promise<boolean> {
  const body = { users: [{ email, balance: Number(balance) }] }
  return (await act(done, call('POST', '_sandbox/seed', { body }))) !== undefined
}

type Values = Readonly<Record<string, string>>

const forms: Record<
  Form,
  { title: string; submit: string; Fields: () => preact.JSX.Element; send: (values: Values) => Promise<boolean> }
> = {
  fund: {
    title: 'Fund',
    submit: 'Fund',
    Fields: () => (
      <>
        <Field label="Email, or a wallet's hostname or address" name="to" list="people" required />
        <Field label="Amount" name="amount" type="number" step="any" value="10" required />
      </>
    ),
    async send({ to = '', amount = '0' }) {
      const isPerson = to.includes('@')
      const whom = isPerson ? { email: to } : to.startsWith('0x') ? { address: to } : { hostname: to }
      const funded = await call('POST', '_sandbox/fund', { body: { ...whom, amount: Number(amount) } })
      // Somebody whom the sandbox does not know yet.
      if (funded.status === 404 && isPerson) return newPerson(to, amount, `Created ${to}, and funded them.`)
      return (await act(`Funded ${to}.`, Promise.resolve(funded))) !== undefined
    },
  },
  person: {
    title: 'New person',
    submit: 'Create',
    Fields: () => (
      <>
        <Field label="Email" name="email" type="email" placeholder="mia@example.test" required />
        <Field label="Balance" name="balance" type="number" step="any" value="10" />
      </>
    ),
    async send({ email = '', balance = '0' }) {
      return newPerson(email, balance, `${email} has ${balance}.`)
    },
  },
  article: {
    title: 'New article',
    submit: 'Create',
    Fields: () => (
      <>
        <Field label="Seller" name="account" list="sellers" required />
        <Field label="Descriptor" name="descriptor" value="NEWS.ARTICLE" required />
        <Field label="Price" name="cost" type="number" step="any" value="0.25" required />
      </>
    ),
    async send({ account = '', descriptor = '', cost = '0' }) {
      const isKnown = [...names.value].some(([principal, name]) => principal.startsWith('account:') && name === account)
      const body = {
        ...(!isKnown && { accounts: [{ name: account }] }),
        commodities: [{ account, descriptor, cost: Number(cost) }],
      }
      const made = await act(`${descriptor} is for sale.`, call('POST', '_sandbox/seed', { body }))
      return made !== undefined
    },
  },
  'sign-in': {
    title: 'Sign in as',
    submit: 'Copy the headers',
    Fields: () => <Field label="Email" name="email" list="people" required />,
    async send({ email = '' }) {
      const session = await act(`Signed in as ${email}.`, call('POST', '_sandbox/sign-in', { body: { email } }))
      if (session === undefined) return false
      const headers = Object.entries(session.headers).map(([name, value]) => `${name}: ${value}`)
      await navigator.clipboard.writeText(headers.join('\n')).then(
        () => tell(`Signed in as ${email}. The headers are in the clipboard.`),
        () => tell(`Signed in as ${email}: ${headers.join(', ')}`),
      )
      return true
    },
  },
}
