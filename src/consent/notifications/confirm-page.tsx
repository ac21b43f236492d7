import type { Problem } from '../../base/problem.js'
import { minuteText } from '../../base/time.js'
import { formPage } from '../../http/pages/form-page.js'
import { Actions, Button } from '../../http/pages/parts.js'
import type { Reply } from '../../http/reply.js'
import { type DeviceChange, type DeviceRow, deviceText } from '../devices/device.js'

type ChangingDevice = DeviceRow & { readonly change: DeviceChange }

export function confirmPage(device: ChangingDevice, token: string, at: number): Reply {
  const { kind, link_from } = device.change
  const isEarly = link_from > at
  return formPage({
    title: kind === 'add' ? 'Add a device' : 'Remove a device',
    about: (
      <p dir="auto">
        <bdi>{deviceText(device)}</bdi>
      </p>
    ),
    body: (
      <>
        <p>
          {isEarly
            ? `You can confirm this now on one of your devices, or here from ${minuteText(link_from)}.`
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

const doneTexts = { add: 'The device was added.', remove: 'The device was removed.' }

export const confirmedPage = ({ change }: ChangingDevice, answer: 'confirm' | 'reject'): Reply =>
  formPage({
    title: answer === 'confirm' ? 'Confirmed' : 'Rejected',
    tone: answer === 'confirm' ? 'good' : undefined,
    body: <p role="status">{answer === 'confirm' ? doneTexts[change.kind] : 'Nothing was changed.'}</p>,
  })

export const refusedChangePage = (refused: Problem): Reply =>
  formPage({
    title: 'Nothing to confirm here',
    refused,
    alert:
      refused.code === 'not_found'
        ? 'This link is wrong, or the change was already confirmed or rejected.'
        : refused.message,
  })
