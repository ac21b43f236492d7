/** Converts the Unix milliseconds of rows to the Unix seconds of bodies. */
export const seconds = (ms: number): number => Math.floor(ms / 1000)

/** Unix seconds as digits. Accounts, users and their secrets show times in this form. */
export const secondsDigits = (ms: number): string => String(seconds(ms))
