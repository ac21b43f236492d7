import type { VNode } from 'preact'
import type { Problem } from '../../base/problem.js'
import { cardStyle } from '../../http/pages/card-style.js'
import { page } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import { answerStyle } from './answer-style.js'
import type { AuthenticationRequestRow } from './request.js'
import { actionTitle, callersWords, detailLines, NOT_OURS } from './wording.js'

/** The address holds the link's token: it is told to nobody, and kept out of frames. */
const headers = { 'referrer-policy': 'same-origin' }

const show = (title: string, body: VNode): Reply =>
  page({ title, body, styles: [cardStyle, answerStyle], headers, policy: { 'form-action': "'self'" } })

/** What a mailed link opens: exactly what is asked, and two buttons. It needs no script. */
export function askingPage(request: AuthenticationRequestRow, token: string, at: number): Reply {
  const title = actionTitle(request)
  return show(
    `Approve or reject: ${title}`,
    <main>
      <p class="kicker">This waits for your answer</p>
      <h1>{title}</h1>
      <Detail request={request} />
      <p>If you did not start this, reject it.</p>
      <form method="post" class="actions">
        <input type="hidden" name="token" value={token} />
        <button type="submit" name="answer" value="reject">
          Reject
        </button>
        <button type="submit" name="answer" value="approve">
          Approve
        </button>
      </form>
      <p class="muted">{Math.ceil((request.expires_at - at) / 1000)} seconds were left when this page was opened.</p>
    </main>,
  )
}

export function answeredPage(request: AuthenticationRequestRow): Reply {
  const title = request.status === 'approved' ? 'Approved' : 'Rejected'
  return show(
    title,
    <main class={request.status}>
      <p class="kicker">{actionTitle(request)}</p>
      <h1>{title}</h1>
      <Detail request={request} />
      <p>You can close this page.</p>
    </main>,
  )
}

/** In place of the question, to people; what they can do is in the sentence. */
export const refusedPage = ({ message }: Problem): Reply =>
  show(
    'No answer is taken',
    <main>
      <h1>No answer is taken here</h1>
      <p role="alert">{message}</p>
    </main>,
  )

const Detail = ({ request }: { request: AuthenticationRequestRow }) => {
  if (request.by_caller)
    return (
      <figure>
        <figcaption>{NOT_OURS}</figcaption>
        <blockquote dir="auto">{callersWords(request.detail)}</blockquote>
      </figure>
    )
  const lines = detailLines(request.detail)
  if (lines.length === 0) return null
  return (
    <dl>
      {lines.map(([label, value]) => (
        <div>
          <dt>{label}</dt>
          <dd dir="auto">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
