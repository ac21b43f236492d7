import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { collections, SCHEMA } from '../src/core.js'
import type { AnyCollection } from '../src/storage/storage.js'
import { rowShapes } from './support/rules/row-shapes.js'

const kept: Record<string, string> = JSON.parse(
  await readFile(new URL(`states/v${SCHEMA}.shapes.json`, import.meta.url), 'utf8').catch(() => '{}'),
)

const WHAT_TO_DO = `The shape of stored rows is not that of schema ${SCHEMA}. See "Change what is stored" in CONTRIBUTING.md.`

describe('the stored rows', () => {
  const shapes = rowShapes(fileURLToPath(new URL('../src/features.ts', import.meta.url)), collections)

  it(`have the shapes of schema ${SCHEMA}`, () => {
    expect(Object.keys(shapes)).toEqual(collections.map(({ name }) => name).sort())
    const names = new Set([...Object.keys(shapes), ...Object.keys(kept)])
    const changed = [...names].filter((name) => shapes[name] !== kept[name])
    const report = changed.map((name) => ({ collection: name, was: kept[name], is: shapes[name] }))
    expect(report, WHAT_TO_DO).toEqual([])
  })
})

describe('the reader of shapes', () => {
  let dir: string | undefined
  afterEach(async () => {
    if (dir !== undefined) await rm(dir, { recursive: true })
    dir = undefined
  })

  const module = (row: string) => `
    interface Collection<R, I> { readonly name: I }
    type Owner = \`user:\${number}\` | 'service'
    interface Row { readonly id: number }
    interface NoteRow extends Row ${row}
    declare const notes: Collection<NoteRow, string>
    const noteFeature = { collections: [notes] }
    export const features = [noteFeature]`
  const byOwner: AnyCollection = { name: 'notes', indexes: { byOwner: { fields: ['owner'] } } }

  async function shapeOf(row: string, declared = byOwner): Promise<string | undefined> {
    dir ??= await mkdtemp(join(tmpdir(), 'farthing-shapes-'))
    const file = join(dir, 'features.ts')
    await writeFile(file, module(row))
    return rowShapes(file, [declared]).notes
  }

  const plain = '{ readonly owner: Owner; readonly tags: readonly string[] }'

  it('names every property with its type, in order, and the indexes', async () => {
    expect(await shapeOf(plain)).toBe(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the text of a type.
      '{ id: number; owner: "service" | `user:${number}`; tags: string[] } {"byOwner":{"fields":["owner"]}}',
    )
    expect(await shapeOf('{ readonly tags: string[]; readonly owner: Owner }')).toBe(await shapeOf(plain))
  })

  const changes: [string, string, AnyCollection?][] = [
    ['a new field', '{ readonly owner: Owner; readonly tags: readonly string[]; readonly at: number }'],
    ['a field that may be absent', '{ readonly owner?: Owner; readonly tags: readonly string[] }'],
    ['a field that may be null', '{ readonly owner: Owner | null; readonly tags: readonly string[] }'],
    ['another stored value', "{ readonly owner: Owner | 'nobody'; readonly tags: readonly string[] }"],
    ['a type deep inside', '{ readonly owner: Owner; readonly tags: readonly { readonly a: string }[] }'],
    ['another index', plain, { ...byOwner, indexes: { byOwner: { fields: ['owner', 'id'] } } }],
    ['a sealed field', plain, { ...byOwner, sealed: { tags: [] } }],
  ]
  it.each(changes)('sees %s', async (_, row, declared) => {
    expect(await shapeOf(row, declared)).not.toBe(await shapeOf(plain))
  })

  it('refuses a type that it cannot see through', async () => {
    await expect(shapeOf('{ readonly owner: import("elsewhere").Owner }')).rejects.toThrow('has the type any')
  })
})
