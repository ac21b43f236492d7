/** Answers that the route table promises and no contract test sees, each with the reason why not. */
export const excused: Readonly<Record<string, string>> = {}
