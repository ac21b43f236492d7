import { expect, test } from 'vitest'
import { isOfForeignPage } from '../../src/sandbox/journal/foreign-page.js'
import type { Entry } from '../../src/sandbox/onion/entry.js'

/** Every value that matters of each thing that a browser tells. Undefined: it tells nothing. */
const TOLD = {
  through: ['msw', 'http', 'worker'],
  allowed: [undefined, '*'],
  origin: [undefined, 'https://shop.example.test', 'null'],
  site: [undefined, 'none', 'same-origin', 'same-site', 'cross-site'],
  referer: [undefined, 'http://localhost:5173/shop', 'http://127.0.0.1/', 'https://evil.example.test/', 'no url'],
  destination: [undefined, 'document', 'image', 'empty'],
  operation: [null, 'createPayment'],
} as const

type Told = { readonly [name in keyof typeof TOLD]?: (typeof TOLD)[name][number] }

/** Who sent a request: the first line that fits says it. */
const LINES: readonly (readonly [who: string, when: { readonly [name in keyof Told]: readonly unknown[] }, boolean])[] =
  [
    ['a page that MSW serves', { through: ['msw'] }, false],
    ['a page that may read the answer', { allowed: ['*'] }, false],
    ['a page of the service itself', { origin: TOLD.origin.slice(1), site: ['same-origin'] }, false],
    ['a page of another origin', { origin: TOLD.origin.slice(1) }, true],
    ['nobody’s page, or one of this site', { site: TOLD.site.slice(0, 4) }, false],
    ['a page on this machine', { referer: TOLD.referer.slice(1, 3) }, false],
    ['someone who followed a link to an operation', { destination: ['document'], operation: ['createPayment'] }, false],
    ['a page of another site', {}, true],
  ]

/** Each combination of what a browser can tell. */
const everything = Object.entries(TOLD).reduce<Told[]>(
  (all, [name, values]) => all.flatMap((told) => values.map((value) => ({ ...told, [name]: value }))),
  [{}],
)

const entryOf = ({ through, allowed, origin, site, referer, destination, operation }: Told): Entry =>
  ({
    ...{ origin: through, operation_id: operation },
    request: { headers: { origin, referer, 'sec-fetch-site': site, 'sec-fetch-dest': destination } },
    response: { headers: { 'access-control-allow-origin': allowed } },
  }) as unknown as Entry

test.each(LINES.map(([who, , isForeign], line) => ({ who, isForeign, line })))(
  'a request of $who: from a foreign page, $isForeign',
  ({ isForeign, line }) => {
    const lineOf = (told: Told) =>
      LINES.findIndex(([, when]) =>
        Object.entries(when).every(([name, values]) => values.includes(told[name as keyof Told])),
      )
    const own = everything.filter((told) => lineOf(told) === line)
    expect(own.length).toBeGreaterThan(0)
    expect(own.filter((told) => isOfForeignPage(entryOf(told)) !== isForeign)).toEqual([])
  },
)
