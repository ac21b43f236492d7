/** The JSON in a text. An empty object if it is none. */
// biome-ignore lint/suspicious/noExplicitAny: whoever reads it knows what it may be
export function jsonIn(text: string | null | undefined): any {
  try {
    return JSON.parse(text ?? '') ?? {}
  } catch {
    return {}
  }
}
