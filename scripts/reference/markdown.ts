/** Text for a paragraph or a cell: what is no code shows its characters as they are. */
export const prose = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll('<', '&lt;').replaceAll('{{', '&#123;&#123;')))
    .join('')

export const code = (text: string): string => `\`${text}\``

/** The text of an anchor, as VitePress makes it of a heading. For headings of one word. */
export const anchor = (heading: string): string => heading.toLowerCase()

/** A table without the columns that are empty in every row. Without rows, it is nothing. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  if (rows.length === 0) return []
  const used = head.flatMap((_, column) => (rows.some((row) => row[column]) ? [column] : []))
  const line = (cells: readonly string[]) => `| ${used.map((column) => cell(cells[column])).join(' | ')} |`
  return [[line(head), `|${used.map(() => '---|').join('')}`, ...rows.map(line)].join('\n')]
}

const cell = (text = ''): string => text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')

/** A page from its parts, with an empty line between them. */
export const page = (...parts: readonly (string | readonly string[])[]): string => `${parts.flat().join('\n\n')}\n`

export const json = (value: unknown): string => `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``
