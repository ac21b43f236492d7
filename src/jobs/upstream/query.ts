/** How a value stands in the query of an upstream service: text as it is, all else as JSON. */
export const queryText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
