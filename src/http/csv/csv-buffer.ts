/** csv-stringify needs Node's `Buffer` while it loads. Import this before it, and call `removeBuffer` after. */
const scope: { Buffer?: unknown } = globalThis
const isLent = scope.Buffer === undefined

if (isLent) scope.Buffer = Uint8Array

export function removeBuffer(): void {
  if (isLent) delete scope.Buffer
}
