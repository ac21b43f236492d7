/** Unix milliseconds, as rows hold them, to the Unix seconds that bodies show. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)

/** Unix seconds as digits: how accounts, users and their secrets show times. */
export const secondsDigits = (ms: number): string => String(seconds(ms))
