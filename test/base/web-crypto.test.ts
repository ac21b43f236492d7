import { afterEach, expect, test, vi } from 'vitest'
import { createService } from '../../src/index.js'

afterEach(() => vi.unstubAllGlobals())

test.each([
  ['the crypto of jsdom', { getRandomValues: () => {} }],
  ['no crypto', undefined],
])('%s: a service says so when it is created, and what to do', (_, given) => {
  vi.stubGlobal('crypto', given)
  for (const options of [{}, { sandbox: true }, { encryptionKey: '00'.repeat(32) }])
    expect(() => createService(options)).toThrow(/crypto\.subtle is missing here.*over https.*In Jest with jsdom/)
})
