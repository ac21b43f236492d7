import { quoted, unlinked } from '../../base/text/quotation.js'
import { minuteText } from '../../base/time.js'

interface NamedDevice {
  readonly platform: 'ios' | 'android' | 'web' | 'mobile'
  readonly name: string | null
}

const platformNames = { ios: 'iOS', android: 'Android', web: 'a browser', mobile: 'a phone' } as const

/** A device in text for people. Its name is quoted, because anybody who registers a device chooses it. */
export const deviceText = ({ platform, name }: NamedDevice): string =>
  name ? `${quoted(name)} (${platformNames[platform]})` : `a device (${platformNames[platform]})`

export type DeviceMail =
  | { readonly what: 'added' | 'removed' }
  /** `from`: when the link starts to work, in Unix milliseconds. */
  | { readonly what: 'add' | 'remove'; readonly link: string; readonly from: number }

/** The mail about a change of the user's devices. */
export function deviceMail(device: NamedDevice, letter: DeviceMail): { subject: string; text: string } {
  const named = unlinked(deviceText(device))
  switch (letter.what) {
    case 'added':
      return {
        subject: 'A device was added',
        text: `From now on you can approve requests on ${named}.\n\nIf you did not add it, sign in and remove it.`,
      }
    case 'removed':
      return {
        subject: 'A device was removed',
        text: `You can no longer approve requests on ${named}.\n\nIf you did not remove it, sign in and add your device again.`,
      }
    case 'add':
    case 'remove':
      return {
        subject: letter.what === 'add' ? 'Confirm a new device' : 'Confirm the removal of a device',
        text: [
          letter.what === 'add'
            ? `Someone who is signed in as you wants to add ${named}, and approve requests on it.`
            : `Someone who is signed in as you wants to remove ${named}, on which you approve requests.`,
          'Approve or reject this on one of your devices.',
          `If you have no device at hand, you can confirm it with this link from ${minuteText(letter.from)}:\n${letter.link}`,
          'If this was not you, open the link now and reject it.',
        ].join('\n\n'),
      }
  }
}
