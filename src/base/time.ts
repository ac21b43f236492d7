/** Converts the Unix milliseconds of rows to the Unix seconds of bodies. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)

/** Unix seconds as digits. Accounts, users and their secrets show times in this form. */
export const secondsDigits = (ms: number): string => String(seconds(ms))

/** A time to the minute for people, such as `2026-01-31 09:05 UTC`. */
export const minuteText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`

/** The latest time that a `Date` holds, in Unix milliseconds: in the year 275760. */
const LATEST_MS = 8.64e15

/** Whether a number is a time in Unix milliseconds that can be written as a date. */
export const isTime = (ms: number): boolean => Number.isInteger(ms) && Math.abs(ms) <= LATEST_MS

/** Whether a day such as `2031-02-28` exists. `Date.parse` reads February 30 as March 2. */
export function isDay(day: string): boolean {
  const at = Date.parse(`${day}T00:00:00Z`)
  return isTime(at) && new Date(at).toISOString().startsWith(day)
}

/** How far ahead of the clock a stored time may be. A later one was written before the clock was moved back. */
export const CLOCK_LEEWAY_MS = 60_000

/** Whether a time that was written as the present lies ahead of the clock: the clock was moved back since. */
export const isAhead = (written: number, now: number): boolean => written > now + CLOCK_LEEWAY_MS

/** Whether something that lasts `lifetimeMs` is valid: it has not ended, and it did not begin ahead of the clock. */
export const isCurrent = (endsAt: number, lifetimeMs: number, now: number): boolean =>
  endsAt > now && !isAhead(endsAt - lifetimeMs, now)
