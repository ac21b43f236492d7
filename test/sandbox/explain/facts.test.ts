import { describe, expect, test } from 'vitest'
import { memoryStorage } from '../../../adapters/storage/memory.js'
import { filledTexts } from '../../../src/sandbox/explain/facts/filled-text.js'
import { KeptEntry } from '../../../src/sandbox/journal/kept-entry.js'

test('the journal keeps what was thrown without its secrets', () => {
  const entry = new KeptEntry('req_1', 1, 0, undefined)
  const session = `ms_${'a'.repeat(32)}`
  entry.keepFacts({
    ...{ token: 'hIdDeN', nonce: 'hIdDeN', detail: `It was "${session}".`, given: 'https://ada:hIdDeN@shop.test/' },
    ...{ names: [session, 'hostname'], card: '4242 4242 4242 4242', url: `https://shop.test/?token=hIdDeN`, limit: 5 },
  })
  const shown = JSON.stringify(entry.facts)
  for (const secret of ['hIdDeN', session, '4242']) expect(shown).not.toContain(secret)
  expect(entry.facts).toMatchObject({ detail: 'It was "[redacted]".', names: ['[redacted]', 'hostname'], limit: 5 })
})

describe('a declared sentence', () => {
  const facts = {
    ...{ at: '2031-05-01T12:00:00.000Z', count: 1, none: 0, nothing: null, is_so: true, list: ['a', 'b', 'c'] },
    ...{
      payer: { hostname: 'ada.twin' },
      owner: 'user:7',
      text: 'with {braces} and [more]',
      ended: '2031-05-01 11:57:00 UTC',
    },
  }
  test.each([
    ['{payer.hostname} pays.', 'ada.twin pays.'],
    ['It pays {nothing}.', undefined],
    ['It pays {unknown.part}.', undefined],
    ['It pays[ {nothing}][ {count}].', 'It pays 1.'],
    ['[{nothing}]', undefined],
    ['{count payment}, {none retry}, {list twin}.', '1 payment, 0 retries, 3 twins.'],
    ['{?is_so}{!none}{!nothing}It is.', 'It is.'],
    ['{!is_so}It is not.', undefined],
    ['`{list}` or {list}.', '`a`, `b` and `c` or a, b and c.'],
    ['{=text} of {#owner}.', '"with {braces} and [more]" of user:7.'],
    ['It is {text}.', 'It is with {braces} and [more].'],
    ['It {@ended}.', 'It ended at 2031-05-01 11:57:00 UTC, 3 minutes before the request.'],
  ])('%s', async (text, filled) => {
    const storage = memoryStorage()
    expect(await storage.read((tx) => filledTexts([text], facts, tx))).toEqual(filled === undefined ? [] : [filled])
    await storage.close()
  })
})
