import type { VNode } from 'preact'
import type { Problem, ProblemCode } from '../../base/problem.js'
import { revealInvisible } from '../../base/text/invisible-characters.js'
import type { At, Pages, View } from '../../http/pages/form-flow.js'
import type { FormPage } from '../../http/pages/form-page.js'
import {
  Actions,
  AmountText,
  AppTitle,
  Button,
  Form,
  QuoteFields,
  SignedInAs,
  SignInForms,
  WaitsForDevice,
} from '../../http/pages/parts.js'
import { isObject } from '../../storage/unknown.js'
import { labelOf } from '../second-factor/wording.js'
import type { ApprovalStep, AskedApproval } from './approval-flow.js'

const kindTitles: Record<AskedApproval['kind'], string> = {
  purchase: 'Approve a purchase',
  paywall: 'Approve a payment',
  transfer: 'Approve a transfer',
  cart: 'Approve a purchase',
  account_change: 'Approve a change',
}

const sentences: Partial<Record<ProblemCode, string>> = {
  not_found: 'Only the user whom an app asks can see its request.',
  rejected: 'You rejected the request on your device. Nothing was approved.',
  approval_timeout: 'You did not answer the second request in time. Approve again.',
  sign_in_required: 'Your session has ended. Sign in again.',
}

export const approvalSentence = ({ code }: Problem): string | undefined => sentences[code]
const signInTitles = { email: 'Sign in to answer', code: 'Enter your code', device: 'Approve on your device' }

const signInPage = (shown: At<ApprovalStep, 'email' | 'code' | 'device'>, { poll, ...view }: View): FormPage => ({
  title: signInTitles[shown.step],
  about: <p class="muted">An app that you connected asks you to approve something.</p>,
  refresh: shown.step === 'device' ? poll : undefined,
  body: <SignInForms at={shown} {...view} />,
})

const appAsks = ({ app }: AskedApproval) => (
  <>
    <AppTitle {...app} /> asks you
  </>
)

/** What it is about, in short: the price and the names. */
const brief = (asked: AskedApproval) => {
  const { named } = partsOf(asked)
  const short = Object.fromEntries(Object.entries(named).filter(([, value]) => !isNested(value)))
  return { kicker: appAsks(asked), about: <Subject asked={asked} fields={short} /> }
}

/** The price once, then what it is paid for. A change has its prices among what changes. */
const Subject = ({ asked, fields }: { asked: AskedApproval; fields: Readonly<Record<string, unknown>> }) => {
  const { price, total } = asked.detail
  const sum = asked.kind === 'account_change' ? undefined : (price ?? total)
  const what = changeTitles[String(changeOf(asked).kind)]
  return (
    <>
      {what !== undefined && <p>{what}</p>}
      {typeof sum === 'string' && <AmountText>{revealInvisible(sum)}</AmountText>}
      <AllFields of={fields} />
    </>
  )
}

const changeTitles: Readonly<Record<string, string>> = {
  update_item: 'Change an item that you sell.',
  create_item: 'Sell a new item, with a wallet of its own.',
  rename_wallet: 'Rename a wallet.',
  update_account: 'Change your business account.',
}

const changeOf = ({ detail: { change } }: AskedApproval): Readonly<Record<string, unknown>> =>
  isObject(change) ? change : {}

/** Numbers and hashes for programs, and what the price or a name shows already. */
const TECHNICAL = new Set(['catalog_item_id', 'cart_id', 'amount', 'dq', 'from', 'line'])
const SHOWN_APART = new Set(['price', 'total', 'change', 'new_price'])

/** Divides a request into what people read, by names, and what only programs need. */
function partsOf({ kind, detail }: AskedApproval) {
  const named: Record<string, unknown> = {}
  const technical: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(detail)) {
    if (SHOWN_APART.has(field)) continue
    // A seller has a name. Of a transfer, the payee is what the user must check.
    if (TECHNICAL.has(field) || (field === 'payee' && 'seller' in detail)) technical[field] = value
    else if (field === 'lines' && Array.isArray(value)) {
      named.lines = value.map(({ name, quantity, price, seller, arguments: args }) => ({
        ...{ name, quantity, price, seller: shortName(seller), arguments: args },
      }))
      technical.lines = value.map(({ catalog_item_id, payee }) => ({ catalog_item_id, payee }))
    } else if (kind === 'account_change' && isObject(value) && 'id' in value) {
      named[field] = value.name ?? `${labelOf(field)} ${value.id}`
      technical[field] = value.id
    } else named[field] = field === 'seller' ? shortName(value) : value
  }
  return { named, technical }
}

/** Sellers without a name have the hostname of their wallet, which is a long number. */
const shortName = (name: unknown): unknown =>
  typeof name === 'string' && /^[0-9a-f]{24,}/.test(name) ? `Wallet ${name.slice(0, 8)}…` : name

function askedPage({ asked }: At<ApprovalStep, 'asked'>): FormPage {
  const { named, technical } = partsOf(asked)
  return {
    title: kindTitles[asked.kind],
    kicker: appAsks(asked),
    about: <Subject asked={asked} fields={named} />,
    body: (
      <>
        <NewValues asked={asked} />
        <p class="muted">Answer by {asked.until}. If you approve, the app can do exactly this, once, within an hour.</p>
        <Form isAtHand>
          {asked.quote && <QuoteFields {...asked.quote} />}
          <Actions>
            <Button answer="approve" go>
              Approve
            </Button>
            <Button answer="reject">Reject</Button>
          </Actions>
        </Form>
        {Object.keys(technical).length > 0 && (
          <details>
            <summary>All details</summary>
            <AllFields of={technical} />
          </details>
        )}
        <SignedInAs email={asked.email} />
      </>
    ),
  }
}

function NewValues({ asked }: { asked: AskedApproval }): VNode | null {
  if (asked.kind !== 'account_change') return null
  const { new_price } = asked.detail
  // The item is named above, and a price reads better with its shortcode.
  const { kind: _, catalog_item_id: __, hostname: ___, ...fields } = changeOf(asked)
  return <Change change={new_price === undefined ? fields : { ...fields, price: new_price }} now={asked.now ?? {}} />
}

const ends: Record<At<ApprovalStep, 'over'>['status'], readonly [title: string, what: string]> = {
  approved: ['Approved', 'Approved. Go back to your app.'],
  rejected: ['Rejected', 'You rejected this. Nothing was paid or changed.'],
  expired: ['Expired', 'This request has expired. The app can ask again.'],
  spent: ['Done', 'You approved this, and the app has used it. It cannot use it again.'],
}

export const approvalPages: Pages<ApprovalStep> = {
  email: signInPage,
  code: signInPage,
  device: signInPage,
  nothing: ({ email }) => ({ title: 'Nothing to approve here', body: <SignedInAs email={email} /> }),
  asked: askedPage,
  wait: ({ asked, by }, { poll }) => ({
    title: by === 'device' ? 'Approve on your device' : 'Approve by mail',
    ...brief(asked),
    refresh: poll,
    body: (
      <>
        {by === 'device' ? (
          <WaitsForDevice />
        ) : (
          <p role="status">
            We mailed you a link. Open it in a different browser or on a different device, and approve it there. This
            page continues by itself.
          </p>
        )}
        <Form>
          <Actions>
            <Button answer="reject">Reject</Button>
          </Actions>
        </Form>
      </>
    ),
  }),
  over: ({ asked, status }) => ({
    title: ends[status][0],
    ...brief(asked),
    tone: status === 'approved' || status === 'spent' ? 'good' : undefined,
    body: <p role="status">{ends[status][1]}</p>,
  }),
}

/** All fields of an object. Values that others wrote are shown as plain text. */
const AllFields = ({ of: fields }: { of: Readonly<Record<string, unknown>> }) => (
  <dl class="lines">
    {Object.entries(fields).map(([name, value]) => (
      <div>
        <dt dir="auto">{labelOf(revealInvisible(name))}</dt>
        <dd>
          <Value value={value} />
        </dd>
      </div>
    ))}
  </dl>
)

const Change = ({
  change,
  now,
}: {
  change: Readonly<Record<string, unknown>>
  now: Readonly<Record<string, unknown>>
}) => (
  <>
    <h2>What changes</h2>
    <dl>
      {Object.entries(change).map(([name, value]) => (
        <div>
          <dt>{labelOf(revealInvisible(name))}</dt>
          {Object.hasOwn(now, name) && (
            <dd>
              <span class="muted">Now: </span>
              <Value value={now[name]} />
            </dd>
          )}
          <dd>
            {Object.hasOwn(now, name) && <span class="muted">Becomes: </span>}
            <Value value={value} />
          </dd>
        </div>
      ))}
    </dl>
  </>
)

/** One line of text, or JSON for anything longer. */
function Value({ value }: { value: unknown }): VNode {
  if (value === null || value === '') return <em>{value === null ? 'none' : 'empty'}</em>
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>
  if (typeof value === 'object') return Array.isArray(value) ? <Items items={value} /> : <Fields fields={value} />
  const text = revealInvisible(String(value))
  return text.includes('\n') ? <pre dir="auto">{text}</pre> : <bdi>{text}</bdi>
}

const isNested = (value: unknown): value is object => typeof value === 'object' && value !== null

const depthOf = (value: unknown): number =>
  isNested(value) ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

/** A list of fields, or JSON if the value is nested too deep to read. */
const Fields = ({ fields }: { fields: object }) => {
  const entries = Object.entries(fields)
  if (entries.length === 0) return <em>none</em>
  if (depthOf(fields) > 2) return <Json value={fields} />
  return (
    <ul>
      {entries.map(([name, value]) => (
        <li>
          <bdi class="muted">{revealInvisible(name)}</bdi>
          <span class="muted">: </span>
          <Value value={value} />
        </li>
      ))}
    </ul>
  )
}

const Items = ({ items }: { items: readonly unknown[] }) =>
  items.length === 0 ? (
    <em>none</em>
  ) : (
    <ol>
      {items.map((item) => (
        <li>{isNested(item) ? <Fields fields={item} /> : <Value value={item} />}</li>
      ))}
    </ol>
  )

const Json = ({ value }: { value: unknown }) => <pre dir="ltr">{revealInvisible(JSON.stringify(value, null, 2))}</pre>
