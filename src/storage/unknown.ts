/** The message of a thrown value, which may not be an Error. */
export const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Whether an error of Node or its modules has this code, such as `ENOENT`. */
export const hasCode = (cause: unknown, code: string): boolean =>
  cause instanceof Error && 'code' in cause && cause.code === code

/** Whether a value is an object with fields: not an array, and not null. */
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A field of a value that may be no object. */
export const fieldOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined)

/** Takes no notice of what a promise ends with, because others hear of it. */
export function ignore(): void {}
