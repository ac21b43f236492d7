import { expect } from 'vitest'
import type { Call } from '../api.js'

/** Replaces a text in a sandbox's rows by one that an earlier version accepted and this one refuses. */
export async function putIntoState(call: Call, text: string, olderText: string): Promise<void> {
  const snapshot = await call('GET', '/_sandbox/snapshot')
  const changed = snapshot.text.replaceAll(JSON.stringify(text).slice(1, -1), JSON.stringify(olderText).slice(1, -1))
  expect(changed).not.toBe(snapshot.text)
  // A state without a schema is that of the first release.
  const { schema, ...older } = JSON.parse(changed)
  expect((await call('PUT', '/_sandbox/snapshot', { body: older })).status).toBeLessThan(300)
}
