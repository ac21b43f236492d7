/** What the worker and its pages tell each other of: mail that came, a code of it that was typed, or a state that is another. */
export type Told = 'mail' | 'code' | 'changed'

export const channelName = (scope: string): string => `farthing demo ${scope}`
