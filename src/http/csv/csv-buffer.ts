/**
 * csv-stringify makes a byte order mark of Node's Buffer as it is loaded, and uses it no more. A browser, which has none,
 * is lent one until then: import this module before it, and call `takeBack` after.
 */
const scope: { Buffer?: unknown } = globalThis
const isLent = scope.Buffer === undefined

if (isLent) scope.Buffer = Uint8Array

export function removeBuffer(): void {
  if (isLent) delete scope.Buffer
}
