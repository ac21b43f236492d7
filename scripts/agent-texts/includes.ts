import { readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'

/** A line that VitePress replaces by the code of a file: `<<< ../../examples/hono/src/worker.ts#part {2}`. */
const INCLUDE = /^<<< (\S+?)(?:#(\w+))?(?: \{.*\})?$/gm

/** A page of `docs/` with the code of the files that it quotes, for readers who have only the page. */
export const withIncludes = (path: string, text: string): string =>
  text.replace(INCLUDE, (_, file: string, region?: string) => {
    const place = join('docs', dirname(path), file)
    const code = readFileSync(place, 'utf8')
    return `\`\`\`${extname(file).slice(1)} ${place}\n${(region === undefined ? code : regionOf(code, region)).trimEnd()}\n\`\`\``
  })

/** The lines between the marks of a region, without the marks of other ones. Throws an Error if there is none. */
function regionOf(code: string, region: string): string {
  const lines = code.split('\n')
  const first = lines.findIndex((line) => line.endsWith(`#region ${region}`))
  const last = lines.findIndex((line) => line.endsWith(`#endregion ${region}`))
  if (first < 0 || last < 0) throw new Error(`No region has the name ${region}.`)
  const shown = lines.slice(first + 1, last).filter((line) => !/#(end)?region /.test(line))
  const indent = Math.min(...shown.filter(Boolean).map((line) => line.search(/\S/)))
  return shown.map((line) => line.slice(indent)).join('\n')
}
