import { expect, test } from 'vitest'
import { findInconsistency, inconsistencies } from '../../src/storage/consistency.js'
import { ROW_DEPTH } from '../../src/storage/state.js'
import { type AnyCollection, collection, type Row, type State } from '../../src/storage/storage.js'

interface Thing extends Row {
  readonly id: number
  readonly name?: string
  readonly owner?: string | null
  readonly number?: number
}

const owners = collection<Row>()('owners', {}, { retention: { forever: 'They stay.' } })
const things = collection<Thing>()(
  'things',
  { byName: { fields: ['name'], unique: true }, byOwner: { fields: ['owner'] } },
  { refs: { owner: 'owners' }, retention: { forever: 'They stay.' } },
)
const hashed = collection<Row>()('hashed', {}, { retention: { forever: 'They stay.' } })
const schema = { collections: [owners, things, hashed], counted: ['things'] }

const state = (rows: Record<string, unknown[]>, counters: State['counters'] = { things: 9, hashed: 5 }): State => ({
  counters,
  rows: { owners: [{ id: 'a' }], ...rows } as State['rows'],
})

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const wrong: [what: string, given: State, collection: string, id: unknown, found: RegExp][] = [
  ['rows of an unknown collection', state({ others: [{ id: 1 }] }), 'others', null, /no such collection/],
  ['a row without an id', state({ things: [{ id: 1 }, { name: 'a' }] }), 'things', null, /row number 2 has no id/],
  ['a value that is no row', state({ things: [null] }), 'things', null, /row number 1 has no id/],
  ['a repeated id', state({ things: [{ id: 1 }, { id: 1 }] }), 'things', 1, /another row has this id/],
  [
    'a repeated unique key',
    state({
      things: [
        { id: 1, name: 'x' },
        { id: 2, name: 'x' },
      ],
    }),
    'things',
    2,
    /row 1 has the same name \(byName\)/,
  ],
  ['a field that no index takes', state({ things: [{ id: 1, owner: true }] }), 'things', 1, /owner is indexed/],
  [
    'an id above the counter',
    state({ things: [{ id: 10 }] }),
    'things',
    10,
    /counter is at 9, so 10 would be used again/,
  ],
  ['an id without a counter', state({ things: [{ id: 1 }] }, {}), 'things', 1, /counter is at 0/],
  [
    'a number above the counter beside a hash',
    state({ hashed: [{ id: 'h', number: 6 }] }),
    'hashed',
    'h',
    /so 6 would/,
  ],
  [
    'a reference to no row',
    state({ things: [{ id: 1, owner: 'b' }] }),
    'things',
    1,
    /its owner is "b", which is not in owners/,
  ],
  ['a negative id', state({ things: [{ id: -1 }] }), 'things', -1, /whole number from 0 up/],
  ['an id that is a fraction', state({ things: [{ id: 1.5 }] }), 'things', 1.5, /whole number from 0 up/],
  [
    'a number that is too large',
    state({ things: [{ id: 1, until: 2 ** 52 + 2 }] }),
    'things',
    1,
    /its until is too large/,
  ],
  [
    'an end that never comes in another field',
    state({ things: [{ id: 1, at: Number.MAX_SAFE_INTEGER }] }),
    'things',
    1,
    /its at is too large/,
  ],
  ['a text with U+0000', state({ things: [{ id: 1, note: 'a\0' }] }), 'things', 1, /its note holds U\+0000/],
  ['half of a surrogate pair', state({ things: [{ id: 1, note: ['\ud800'] }] }), 'things', 1, /its note holds U\+0000/],
  [
    'a name of a part that no storage keeps',
    state({ things: [{ id: 1, note: { 'a\0': 1 } }] }),
    'things',
    1,
    /its note holds/,
  ],
  ['an infinite number', state({ things: [{ id: 1, note: [Infinity] }] }), 'things', 1, /its note holds a number/],
  [
    'values that nest too deep',
    state({ things: [{ id: 1, note: nested(ROW_DEPTH) }] }),
    'things',
    1,
    /nested deeper than 64/,
  ],
]

test.each(wrong)('finds %s', (_, given, of, id, what) => {
  expect(findInconsistency(given, schema)).toEqual({ collection: of, id, what: expect.stringMatching(what) })
})

test('a reference is checked only to rows that stay', () => {
  const stays = { forever: 'They stay.' }
  const retentions = [
    stays,
    { until: 'A feature removes them.' },
    { after: 'byEnd', keepMs: 1, is: 'ended' },
    undefined,
  ]
  const targets = retentions.map((retention, n) => ({ ...collection<Row>()(`to${n}`, {}), retention }) as AnyCollection)
  const refs = Object.fromEntries([
    ...targets.map(({ name }) => [name, name]),
    ['gone', 'no collection'],
    ['any', null],
  ])
  const from = { ...collection<Row>()('from', {}), refs }
  const row = { id: 1, ...Object.fromEntries(Object.keys(refs).map((field) => [field, 'b'])) }
  const given = { counters: {}, rows: { to0: [{ id: 'a' }], from: [row] } }
  const check = (rows: readonly AnyCollection[]) =>
    findInconsistency(given, { collections: [from, ...rows], counted: [] })?.what
  expect(check(targets)).toBe('its to0 is "b", which is not in to0')
  expect(check(targets.map((target) => ({ ...target, retention: { until: 'Later.' } })))).toBeUndefined()
})

test('finds one fault of each row, and those of all rows', () => {
  const given = state({
    things: [{ id: -1, note: 'a\0', owner: 'b' }, { id: 3 }, { id: 10, owner: 'b' }, { id: 4, owner: 'b' }],
  })
  expect([...inconsistencies(given, schema)].map(({ id }) => id)).toEqual([-1, 10, 4])
})

test.each([
  ['nothing', state({})],
  ['an unknown collection without rows', state({ others: [] })],
  ['rows at the counter', state({ things: [{ id: 9 }, { id: 0 }], hashed: [{ id: 'h', number: 5 }] })],
  [
    'rows of one unique index without its field',
    state({ things: [{ id: 1 }, { id: 2, name: null }, { id: 3, name: 'x' }] }),
  ],
  [
    'references that hold, and none',
    state({
      things: [
        { id: 1, owner: 'a' },
        { id: 2, owner: null },
      ],
    }),
  ],
  [
    'an end that never comes',
    state({ things: [{ id: 1, until: Number.MAX_SAFE_INTEGER, at: 2 ** 52, below: -(2 ** 52) }] }),
  ],
  ['values as deep as they may be', state({ things: [{ id: 1, note: nested(ROW_DEPTH - 1) }] })],
  ['whole surrogate pairs', state({ things: [{ id: 1, note: '\ud83d\ude00', ok: true, none: null }] })],
])('finds no fault in %s', (_, given) => {
  expect([...inconsistencies(given, schema)]).toEqual([])
})
