import { quoted, unlinked } from '../../base/text/quotation.js'

interface NamedDevice {
  readonly platform: 'ios' | 'android' | 'web'
  readonly name: string | null
}

const platformNames = { ios: 'iOS', android: 'Android', web: 'a browser' } as const

/** A device as people are told of it: whoever registers it names it. */
export const deviceText = ({ platform, name }: NamedDevice): string =>
  name ? `${quoted(name)} (${platformNames[platform]})` : `a device (${platformNames[platform]})`

export type DeviceMail =
  | { readonly what: 'added' | 'removed' }
  /** `from`: when the link begins to confirm the change. */
  | { readonly what: 'add' | 'remove'; readonly link: string; readonly from: number }

/** What a user is told of a change of their devices. */
export function deviceMail(device: NamedDevice, letter: DeviceMail): { subject: string; text: string } {
  const named = unlinked(deviceText(device))
  switch (letter.what) {
    case 'added':
      return {
        subject: 'A device was added',
        text: `You are asked for your approval on ${named} from now on.\n\nIf you did not add it, sign in and remove it.`,
      }
    case 'removed':
      return {
        subject: 'A device was removed',
        text: `You are no longer asked for your approval on ${named}.\n\nIf you did not remove it, sign in and add your device again.`,
      }
    case 'add':
    case 'remove':
      return {
        subject: letter.what === 'add' ? 'Confirm a new device' : 'Confirm that a device is removed',
        text: [
          letter.what === 'add'
            ? `Somebody who is signed in as you wants to add ${named}, to be asked for your approval on it.`
            : `Somebody who is signed in as you wants to remove ${named}, on which you are asked for your approval.`,
          'Approve or reject this on a device that you have.',
          `If you have none at hand, this link confirms it from ${minuteText(letter.from)} on:\n${letter.link}`,
          'If this was not you, open the link and reject it. You can do that at once.',
        ].join('\n\n'),
      }
  }
}

export const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
