import { expect, test } from 'vitest'
import { countedDaily, isCounted } from '../../src/storage/growth.js'
import { DAY, defaultRetention, isSwept, keptFor } from '../../src/storage/retention.js'
import {
  OutcomeUnknown,
  StorageClosed,
  StorageFull,
  StorageUnavailable,
  UniqueViolation,
} from '../../src/storage/storage.js'
import { SchemaNewer } from '../../src/storage/tables/migration.js'
import { storageUnavailable } from '../../src/storage/unavailable.js'
import { wordIndex } from '../../src/storage/word-index.js'

test('only a rule with an end is swept', () => {
  const swept = { after: 'byEnd', keepMs: 5, is: 'ended' } as const
  expect(isSwept(swept as never)).toBe(true)
  expect([undefined, { forever: 'They stay.' }, { until: 'Later.' }].map(isSwept)).toEqual([false, false, false])
})

test('rows are kept for milliseconds, or for the days of an option', () => {
  const limits = { ...defaultRetention, eventDays: 2 }
  expect([0, 7, 'eventDays' as const].map((keepMs) => keptFor({ keepMs }, limits))).toEqual([0, 7, 2 * DAY])
})

test('only a growth with a number is counted', () => {
  expect([countedDaily('each call'), undefined, { by: 'each call', bound: 'It ends.' }].map(isCounted)).toEqual([
    true,
    false,
    false,
  ])
})

test('the rows of an index of words are found by word and block, and stay until their owner removes them', () => {
  const { name, indexes, retention, growth } = wordIndex('words', 'A feature removes them.')
  expect([name, indexes]).toEqual(['words', { byWord: { fields: ['word', 'block'] } }])
  expect(retention).toEqual({ until: 'A feature removes them.' })
  expect(isCounted(growth)).toBe(false)
  expect(growth).toMatchObject({ by: expect.stringMatching(/./), bound: expect.stringMatching(/./) })
})

test('each error of a storage has the name of its class, and those of one that is unavailable are one kind', () => {
  const unavailable = [
    new StorageUnavailable('a'),
    new StorageClosed(),
    new StorageFull('a'),
    new OutcomeUnknown('a'),
    new SchemaNewer('a', 2, 1),
  ]
  for (const error of [...unavailable, new UniqueViolation('notes', 'bySlug', ['a'])]) {
    expect(error.name).toBe(error.constructor.name)
    expect(error instanceof StorageUnavailable).toBe(unavailable.some((each) => each === error))
  }
  const cause = new Error('why')
  const closed = new StorageFull('a', { cause, reason: 'the disk is full' })
  expect([closed.cause, closed.reason, new StorageFull('a').reason]).toEqual([cause, 'the disk is full', undefined])
  expect(new UniqueViolation('notes', 'bySlug', ['a', 1]).message).toBe('notes.bySlug already holds ["a",1]')
})

test('callers read why a storage is unavailable only if anybody may, and of a full one what it says', () => {
  const told = (cause: StorageUnavailable) => storageUnavailable(cause, { name: 'file' })
  const headers = { 'retry-after': '5' }
  const hidden = new StorageUnavailable('/home/data.json is broken')
  expect(told(hidden)).toMatchObject({ code: 'storage_unavailable', headers, fields: { name: 'file' }, cause: hidden })
  expect([told(hidden).message, told(hidden).facts]).toEqual([expect.not.stringContaining('Reason'), {}])
  const open = new StorageUnavailable('/home/data.json is full', { reason: 'the disk is full' })
  expect(told(open)).toMatchObject({ code: 'storage_unavailable', headers, cause: open })
  expect(told(open).message).toMatch(/Reason: the disk is full\.$/)
  expect(storageUnavailable(hidden).fields).toEqual({})
  const full = new StorageFull('There are 3 bytes left.')
  expect(told(full)).toMatchObject({ code: 'storage_full', headers: {}, fields: { name: 'file' }, cause: full })
  expect(told(full).message).toMatch(/There are 3 bytes left\.$/)
})
