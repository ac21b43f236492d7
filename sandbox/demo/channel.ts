/** What the worker and its pages tell each other of: mail that came, or a state that is another. */
export type Told = 'mail' | 'changed'

export const channelName = (scope: string): string => `farthing demo ${scope}`
