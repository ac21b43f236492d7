import { expect } from 'vitest'

/** Matches the whole address of the twin with this hostname. */
export const addressOf = (hostname: string) =>
  expect.stringMatching(new RegExp(`^${hostname.slice(0, 32)}[0-9a-f]{34}$`))

/** The lines of a CSV without quoted cells, header first. */
export const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')
