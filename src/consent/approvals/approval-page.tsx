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

const head = ({ app, summary }: AskedApproval) => ({
  kicker: (
    <>
      <AppTitle {...app} /> asks you
    </>
  ),
  about: <p dir="auto">{revealInvisible(summary)}</p>,
})

function askedPage({ asked }: At<ApprovalStep, 'asked'>): FormPage {
  const { price, total } = asked.detail
  const sum = price ?? total
  const { kicker, about } = head(asked)
  return {
    title: kindTitles[asked.kind],
    kicker,
    about: (
      <>
        {about}
        {typeof sum === 'string' && <AmountText>{revealInvisible(sum)}</AmountText>}
      </>
    ),
    body: (
      <>
        <Detail asked={asked} />
        <p class="muted">Answer by {asked.until}. If you approve, the app can do exactly this, once, within an hour.</p>
        <Form>
          {asked.quote && <QuoteFields {...asked.quote} />}
          <Actions>
            <Button answer="approve" go>
              Approve
            </Button>
            <Button answer="reject">Reject</Button>
          </Actions>
        </Form>
        <SignedInAs email={asked.email} />
      </>
    ),
  }
}

function Detail({ asked: { kind, detail, now } }: { asked: AskedApproval }): VNode {
  if (kind !== 'account_change') return <AllFields of={detail} />
  const { change, new_price, ...about } = detail
  // The summary above already names the item, and a price reads better with its shortcode.
  const { kind: _, catalog_item_id: __, hostname: ___, ...fields } = isObject(change) ? change : {}
  return (
    <>
      <AllFields of={about} />
      <Change change={new_price === undefined ? fields : { ...fields, price: new_price }} now={now ?? {}} />
    </>
  )
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
    ...head(asked),
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
    ...head(asked),
    tone: status === 'approved' || status === 'spent' ? 'good' : undefined,
    body: <p role="status">{ends[status][1]}</p>,
  }),
}

/** All fields of an object. Values that others wrote are shown as plain text. */
const AllFields = ({ of: fields }: { of: Readonly<Record<string, unknown>> }) => (
  <dl>
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
