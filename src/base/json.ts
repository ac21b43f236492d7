/** A deep copy of plain JSON. */
export const jsonCopy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T // JSON keeps the shape of plain JSON.

/** The value of a JSON text. Undefined if it is none. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The same fields without those that hold `undefined`. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Removes the fields that hold `undefined`, so that spreading the value overwrites nothing with `undefined`. */
export const withoutUndefined = <T extends object>(value: T): Defined<T> =>
  // `Object.fromEntries` loses the names of the fields.
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>
