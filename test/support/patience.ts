import { vi } from 'vitest'

/** As long as `expect.poll` waits (vitest.config.ts): a fact may come late on a machine that has much else to do. */
const PATIENCE_MS = 60_000

const { waitUntil, waitFor } = vi
const patient = (options?: number | object) =>
  typeof options === 'object' ? { timeout: PATIENCE_MS, ...options } : (options ?? PATIENCE_MS)
const patientUntil: typeof waitUntil = (check, options) => waitUntil(check, patient(options))
const patientFor: typeof waitFor = (check, options) => waitFor(check, patient(options))
// Settings do not reach these two, which give up after a second. Files that share a process share them.
if (waitUntil.name !== patientUntil.name) Object.assign(vi, { waitUntil: patientUntil, waitFor: patientFor })
