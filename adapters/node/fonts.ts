import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Fonts } from '../../src/core.js'

export interface NodeFontsOptions {
  /**
   * Fontsource packages, in the order in which they are searched. Packages that are not installed are skipped.
   * Default: Noto Sans for Arabic, Simplified Chinese, Japanese, Korean and Traditional Chinese.
   */
  readonly packages?: readonly string[]
}

const NOTO = ['arabic', 'sc', 'jp', 'kr', 'tc'].map((name) => `@fontsource/noto-sans-${name}`)

/** Finds fonts in the Fontsource packages that are installed. Reads only files that contain a requested character. */
export function nodeFonts({ packages = NOTO }: NodeFontsOptions = {}): Fonts {
  let opened: Promise<readonly FontPart[]> | undefined
  return {
    async find(characters) {
      opened ??= Promise.all(packages.map(readFontParts)).then((parts) => parts.flat())
      const wanted = new Set(characters.map((character) => character.codePointAt(0) ?? 0))
      const files: string[] = []
      for (const { file, ranges } of await opened) {
        const has = [...wanted].filter((code) => ranges.some(([first, last]) => code >= first && code <= last))
        if (has.length === 0) continue
        files.push(file)
        for (const code of has) wanted.delete(code)
      }
      return Promise.all(files.map(async (file) => new Uint8Array(await readFile(file))))
    },
  }
}

/** A font file and the characters that it contains. */
type FontPart = { readonly file: string; readonly ranges: readonly (readonly [first: number, last: number])[] }
const require = createRequire(import.meta.url)

async function readFontParts(name: string): Promise<FontPart[]> {
  const index = fontFolder(name)
  if (index === undefined) return []
  const rangesByPart: object = JSON.parse(await readFile(index, 'utf8'))
  const id = name.slice(name.indexOf('/') + 1)
  return Object.entries(rangesByPart).map(([part, ranges]) => ({
    file: join(dirname(index), 'files', `${id}-${part.replace(/[[\]]/g, '')}-400-normal.woff`),
    ranges: String(ranges).split(',').map(rangeOf),
  }))
}

function fontFolder(name: string): string | undefined {
  try {
    return require.resolve(`${name}/unicode.json`)
  } catch {
    return undefined
  }
}

/** Parses `U+460-52f` or `U+2116`. */
function rangeOf(range: string): readonly [number, number] {
  const [first = '', last = first] = range.trim().replace('U+', '').split('-')
  return [Number.parseInt(first, 16), Number.parseInt(last, 16)]
}
