import type { Problem } from '../../base/problem.js'
import { formPage } from '../../http/pages/form-page.js'
import { Actions, Button, Facts, Quotation } from '../../http/pages/parts.js'
import type { Reply } from '../../http/reply.js'
import type { AuthenticationRequestRow } from './request.js'
import { actionTitle, CALLER_WARNING, callerText, detailLines } from './wording.js'

export function answerPage(request: AuthenticationRequestRow, token: string, at: number): Reply {
  const title = actionTitle(request)
  return formPage({
    title: `Approve or reject: ${title}`,
    kicker: 'This request needs your answer',
    heading: title,
    about: <Detail request={request} />,
    body: (
      <>
        <p>If you did not start this, reject it.</p>
        <form method="post">
          <input type="hidden" name="token" value={token} />
          <Actions>
            <Button answer="reject">Reject</Button>
            <Button answer="approve" go>
              Approve
            </Button>
          </Actions>
        </form>
        <p class="muted">{Math.ceil((request.expires_at - at) / 1000)} seconds were left when this page opened.</p>
      </>
    ),
  })
}

export const answeredPage = (request: AuthenticationRequestRow): Reply =>
  formPage({
    title: request.status === 'approved' ? 'Approved' : 'Rejected',
    tone: request.status === 'approved' ? 'good' : 'bad',
    kicker: actionTitle(request),
    about: <Detail request={request} />,
    body: <p>You can close this page.</p>,
  })

export const refusedAnswerPage = (refused: Problem): Reply =>
  formPage({ title: 'Request closed', heading: 'You cannot answer this request', alert: refused.message, refused })

const Detail = ({ request }: { request: AuthenticationRequestRow }) => {
  if (request.by_caller) return <Quotation by={CALLER_WARNING}>{callerText(request.detail)}</Quotation>
  const lines = detailLines(request.detail)
  return lines.length === 0 ? null : <Facts facts={lines} />
}
