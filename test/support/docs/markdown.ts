import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** A fenced block of a page. */
export interface Block {
  /** The page's path in the project. */
  readonly page: string
  readonly line: number
  readonly language: string
  /** In square brackets behind the language: the name of a file. */
  readonly title: string | undefined
  /** Belongs to the block before it. */
  readonly isContinued: boolean
  /** Shows what the block before it prints. */
  readonly isOutput: boolean
  /** The test that runs it, if it needs one of its own. */
  readonly testedBy: string | undefined
  readonly text: string
  /** Code in the language of the block that readers do not see: it runs before or after it. */
  readonly before: string
  readonly after: string
}

/** README.md and the pages of `docs/` that people write. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.md') && !/^docs\/(reference|\.vitepress)\//.test(path)),
]

export const readPage = (page: string): string => readFileSync(join(root, page), 'utf8')

const fence =
  /(?:^<!-- before\n(?<before>[\s\S]*?)^-->\n+)?^(?<indent> *)```(?<info>\S.*)\n(?<text>[\s\S]*?)^ *```$(?:\n+<!-- after\n(?<after>[\s\S]*?)^-->$)?/gm

/** The blocks of a page, in order. */
export function blocksOf(page: string, markdown = readPage(page)): Block[] {
  return [...markdown.matchAll(fence)].map(({ 0: whole, index, groups = {} }) => {
    const { before = '', indent = '', info = '', text = '', after = '' } = groups
    const [language = '', ...words] = info.split(/\s+/)
    const start = index + whole.indexOf(`\`\`\`${info}`)
    return {
      page,
      line: markdown.slice(0, start).split('\n').length,
      language,
      title: /\[(.+)\]/.exec(info)?.[1],
      isContinued: words.includes('continued'),
      isOutput: words.includes('output'),
      testedBy: words.find((word) => word.startsWith('tested-by='))?.slice('tested-by='.length),
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      before,
      after,
    }
  })
}

/** What a page quotes with `<<<`: the path in the project, and the region if it names one. */
export const quotesOf = (page: string, markdown = readPage(page)) =>
  [...markdown.matchAll(/^<<< *(\S+?)(?:#(\S+?))?(?: *[[{].*)?$/gm)].map(([, target = '', region]) => ({
    path: target.startsWith('@/') ? join('docs', target.slice(2)) : join(page, '..', target),
    region,
  }))

/** The one block of a page that a test of its own runs. */
export function blockTestedBy(test: string, page: string, holding: string): string {
  const [found, ...more] = blocksOf(page).filter(({ testedBy, text }) => testedBy === test && text.includes(holding))
  if (found === undefined || more.length > 0)
    throw new Error(`${page} has ${more.length + (found ? 1 : 0)} blocks with tested-by=${test} that hold "${holding}"`)
  return found.text
}
