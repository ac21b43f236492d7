/** A value as text in an upstream URL's query: strings unchanged, everything else as JSON. */
export const queryText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
