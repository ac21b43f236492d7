/** The same plain JSON again, which shares nothing with the value. */
export const jsonCopy = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T // What JSON holds comes back as it went.

/** The same fields without those that hold `undefined`. */
export type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/** Without the fields that hold `undefined`, which would hide what they are spread over. */
export const withoutUndefined = <T extends object>(value: T): Defined<T> =>
  // `Object.fromEntries` forgets which fields there are.
  Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as Defined<T>
