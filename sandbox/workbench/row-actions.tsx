import { useState } from 'preact/hooks'
import { call, headersAs, type Row } from './api.js'
import { Button, Dialog, Field } from './parts.js'
import { act, amountOfUnits } from './state.js'

type Values = Readonly<Record<string, string>>

interface RowAction {
  readonly label: string
  readonly done: string
  readonly method: 'POST' | 'PUT' | 'DELETE'
  readonly path: (row: Row) => string
  /** As whom. A control needs nobody. */
  readonly as?: (row: Row) => string
  readonly isPossible?: (row: Row) => boolean
  readonly body?: object
  /** What to fill in first. */
  readonly fields?: (row: Row) => preact.JSX.Element
  readonly bodyOf?: (values: Values) => object
}

const ofAccount = ({ account_id }: Row) => `account:${account_id}`
const ofUser = ({ user_id }: Row) => `user:${user_id}`
const isPending = ({ status }: Row) => status === 'pending'

const article: RowAction = {
  label: 'Edit',
  done: 'Changed. It counts for later payments.',
  method: 'PUT',
  path: ({ id }) => `_sandbox/commodities/${id}`,
  fields: ({ descriptor, cost, dq }) => (
    <>
      <Field label="Descriptor" name="descriptor" value={String(descriptor)} required />
      <Field label="Price" name="cost" type="number" step="any" value={String(amountOfUnits(cost, dq))} required />
    </>
  ),
  bodyOf: ({ descriptor, cost }) => ({ descriptor, cost: Number(cost) }),
}

const item: readonly RowAction[] = [
  {
    label: 'Edit',
    done: 'Changed.',
    method: 'PUT',
    path: ({ id }) => `v4/catalog/items/${id}`,
    as: ofAccount,
    isPossible: ({ archived }) => !archived,
    fields: ({ name, description }) => (
      <>
        <Field label="Name" name="name" value={String(name)} required />
        <Field label="Description" name="description" value={String(description)} required />
        <Field label="New price, if it changes" name="price" type="number" step="any" />
      </>
    ),
    bodyOf: ({ name, description, price }) => ({ name, description, ...(price && { price: Number(price) }) }),
  },
  {
    label: 'Archive',
    done: 'Archived. Nobody can buy it now.',
    method: 'POST',
    path: ({ id }) => `v4/catalog/items/${id}/archive`,
    as: ofAccount,
    isPossible: ({ archived }) => !archived,
  },
  {
    label: 'Restore',
    done: 'Restored. It stays inactive until it is activated.',
    method: 'POST',
    path: ({ id }) => `v4/catalog/items/${id}/restore`,
    as: ofAccount,
    isPossible: ({ archived }) => archived === true,
  },
]

const webhook = (label: string, done: string, more: Pick<RowAction, 'method'> & Partial<RowAction>): RowAction => ({
  ...{ label, done, as: ofAccount, path: ({ id }: Row) => `v4/webhooks/${id}` },
  ...more,
})

const webhooks = [
  webhook('Send a test', 'A test is on its way.', {
    method: 'POST',
    path: ({ id }) => `v4/webhooks/${id}/test`,
    isPossible: ({ status }) => status === 'enabled',
  }),
  webhook('Disable', 'Disabled. Its deliveries have ended.', {
    method: 'PUT',
    body: { status: 'disabled' },
    isPossible: ({ status }) => status === 'enabled',
  }),
  webhook('Enable', 'Enabled.', {
    method: 'PUT',
    body: { status: 'enabled' },
    isPossible: ({ status }) => status !== 'enabled',
  }),
  webhook('Delete', 'Deleted.', { method: 'DELETE' }),
]

const approval = (verb: 'approve' | 'reject', label: string, done: string): RowAction => ({
  ...{ label, done, method: 'POST', isPossible: isPending },
  path: ({ id }) => `_sandbox/approvals/${id}/${verb}`,
})

/** What can be changed or taken back by hand, through the operation of whom it belongs to. */
const actions: Readonly<Record<string, readonly RowAction[]>> = {
  commodities: [article],
  catalog_items: item,
  webhooks,
  sessions: [
    {
      ...{ label: 'Sign out', done: 'Signed out, everywhere that it was used.', method: 'DELETE', as: ofUser },
      path: ({ id }) => `v4/sessions/${id}`,
    },
  ],
  oidc_connections: [
    {
      ...{ label: 'Disconnect', done: 'Disconnected. Its tokens no longer work.', method: 'DELETE', as: ofUser },
      path: ({ id }) => `v4/connections/${id}`,
    },
  ],
  approvals: [approval('approve', 'Approve', 'Approved.'), approval('reject', 'Reject', 'Rejected.')],
}

/** Sends a call as whoever it takes, and says how it went. Returns whether it succeeded. */
export async function actAs(
  principal: string | undefined,
  done: string,
  [method, path, body]: readonly [method: string, path: string, body?: object | undefined],
): Promise<boolean> {
  const headers = principal === undefined ? {} : await headersAs(principal)
  const sent = call(method, path, { headers, isShown: true, ...(body && { body }) })
  return (await act(done, sent)) !== undefined
}

/** The buttons of a row. */
export function RowActions({ name, row }: { name: string; row: Row }) {
  const [open, setOpen] = useState<RowAction>()
  const possible = (actions[name] ?? []).filter(({ isPossible }) => isPossible?.(row) ?? true)
  if (possible.length === 0) return null
  const run = ({ done, method, path, as, body }: RowAction, given: object | undefined = body) =>
    actAs(as?.(row), done, [method, path(row), given])
  return (
    <p class="acts">
      {possible.map((action) => (
        <Button kind="plain" key={action.label} onClick={() => (action.fields ? setOpen(action) : run(action))}>
          {action.label}
        </Button>
      ))}
      {open && (
        <Dialog
          title={open.label}
          submit="Save"
          onSubmit={(values) => run(open, open.bodyOf?.(values))}
          onClose={() => setOpen(undefined)}
        >
          {open.fields?.(row)}
        </Dialog>
      )}
    </p>
  )
}
