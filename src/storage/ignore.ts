/** Takes no notice of what a promise ends with, because others hear of it. */
export function ignore(): void {}
