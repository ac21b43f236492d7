import type { Problem } from '../../base/problem.js'
import { Actions, Alert, Button } from '../../http/pages/card.js'
import { type CardPage, cardPage } from '../../http/pages/card-page.js'
import { inline } from '../../http/pages/html.js'
import type { Reply } from '../../http/reply.js'
import type { DeviceChange, DeviceRow } from '../devices/device.js'
import { deviceText, minuteText } from '../devices/wording.js'

const style = inline('h1 + p { margin-top: 12px; }')
const show = (parts: Omit<CardPage, 'style'>): Reply => cardPage({ ...parts, style })

type Changing = DeviceRow & { readonly change: DeviceChange }

const titleOf = ({ change }: Changing): string => (change.kind === 'add' ? 'Add a device' : 'Remove a device')

/** What a mailed link opens: the change, and what can be done about it now. It needs no script. */
export function confirmPage(device: Changing, token: string, at: number): Reply {
  const isEarly = device.change.link_from > at
  return show({
    title: titleOf(device),
    body: (
      <>
        <h1>{titleOf(device)}</h1>
        <p dir="auto">
          <bdi>{deviceText(device)}</bdi>
        </p>
        <p>
          {isEarly
            ? `You can confirm this here from ${minuteText(device.change.link_from)} on, or at once on a device that you have.`
            : 'If this was not you, reject it.'}
        </p>
        <form method="post">
          <input type="hidden" name="token" value={token} />
          <Actions>
            <Button answer="reject">Reject</Button>
            {!isEarly && (
              <Button answer="confirm" go>
                Confirm
              </Button>
            )}
          </Actions>
        </form>
      </>
    ),
  })
}

export const confirmedPage = (device: Changing, answer: 'confirm' | 'reject'): Reply =>
  show({
    title: answer === 'confirm' ? 'Confirmed' : 'Rejected',
    done: true,
    body: (
      <>
        <h1>{answer === 'confirm' ? 'Confirmed' : 'Rejected'}</h1>
        <p role="status">
          {answer === 'reject'
            ? 'Nothing was changed.'
            : device.change.kind === 'add'
              ? 'The device was added.'
              : 'The device was removed.'}
        </p>
      </>
    ),
  })

/** In place of the change, to people. */
export const refusedPage = (refused: Problem): Reply =>
  show({
    title: 'Nothing to confirm here',
    refused,
    body: (
      <>
        <h1>Nothing to confirm here</h1>
        <Alert>
          {refused.code === 'not_found'
            ? 'This is no link that we mailed, or the change was confirmed or rejected.'
            : refused.message}
        </Alert>
      </>
    ),
  })
