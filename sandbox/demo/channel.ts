/** What the worker and its pages tell each other: a mail arrived, a code was typed, or the state was replaced. */
export type ChannelMessage = 'mail' | 'code' | 'changed'

export const channelName = (scope: string): string => `farthing demo ${scope}`
