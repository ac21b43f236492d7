/**
 * csv-stringify needs Node's `Buffer` only while it loads. In browsers this module provides one: import it before
 * csv-stringify, and call `removeBuffer` after.
 */
const scope: { Buffer?: unknown } = globalThis
const isLent = scope.Buffer === undefined

if (isLent) scope.Buffer = Uint8Array

export function removeBuffer(): void {
  if (isLent) delete scope.Buffer
}
