import { readdirSync } from 'node:fs'
import { expect, it } from 'vitest'
import { agentTexts } from '../../scripts/agent-texts/texts.js'
import { problemCodes } from '../../src/base/problem.js'
import { sandboxTools } from '../../src/sandbox/tools/tool-list.js'
import { anchorsOf } from '../support/docs/anchors.js'
import { readPage } from '../support/docs/markdown.js'

const texts = agentTexts()
const textOf = (path: string): string => texts.get(path) ?? ''

it('llms-full.txt holds every guide and every error code', () => {
  const guides = readdirSync('docs/guides').filter((name) => name.endsWith('.md'))
  expect(guides.length).toBeGreaterThan(30)
  const paragraphs = (name: string) =>
    readPage(`docs/guides/${name}`)
      .trim()
      .split(/\n\n(?:<<< .*\n*)*/)
  const missing = guides.filter((name) => paragraphs(name).some((text) => !textOf('llms-full.txt').includes(text)))
  expect(missing).toEqual([])
  // Code that a page only names would be a dead end for readers of the package.
  expect(textOf('llms-full.txt')).not.toMatch(/^<<< /m)
  expect(textOf('llms-full.txt')).toContain('```ts examples/hono/src/worker.ts\n')
  const codes = anchorsOf(pages().get('docs/reference/errors.md') ?? '')
  expect(problemCodes.filter((code) => !codes.has(code))).toEqual([])
})

/** The pages in llms-full.txt, by their paths. */
const pages = () =>
  new Map(
    textOf('llms-full.txt')
      .split(/^(?=<!-- docs\/)/m)
      .flatMap((part) => {
        const [, path, text] = /^<!-- (docs\/\S+) -->\n\n([\s\S]*)$/.exec(part) ?? []
        return path === undefined || text === undefined ? [] : [[path, text] as const]
      }),
  )

it('llms.txt says what each page is about, and which lines of llms-full.txt it has', () => {
  const lines = textOf('llms.txt').split('\n')
  const listed = lines.flatMap((line) => {
    const [, title, first, last] = /^- \[(.+)\]\(llms-full\.txt#L(\d+)-L(\d+)\)(: .+\.)?$/.exec(line) ?? []
    return title === undefined ? [] : [{ title, first: Number(first), last: Number(last) }]
  })
  expect(lines[0]).toBe('# farthing')
  expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(listed.length)
  const full = textOf('llms-full.txt').split('\n')
  const linked = listed.map(({ title, first, last }) => {
    const [mark = '', , ...text] = full.slice(first - 1, last)
    const [, titled] = /^# (.+)$/m.exec(text.join('\n')) ?? []
    return {
      title,
      titled: titled?.replaceAll('`', ''),
      path: /^<!-- (.+) -->$/.exec(mark)?.[1],
      text: text.join('\n'),
    }
  })
  expect(linked.filter(({ title, titled }) => title !== titled)).toEqual([])
  expect(linked.map(({ path, text }) => [path, text])).toEqual([...pages()].map(([path, text]) => [path, text.trim()]))
})

it('the package has the documentation once', () => {
  expect([...texts.keys()]).toEqual(['llms.txt', 'llms-full.txt', 'SKILL.md'])
})

it('the skill says when to use it, and names each tool', () => {
  const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(textOf('SKILL.md')) ?? []
  expect(head).toMatch(/^name: [a-z-]{1,64}\ndescription: .{20,1024}$/)
  expect(sandboxTools.filter(({ name }) => !body.includes(`- \`${name}\`: `))).toEqual([])
  expect(body).toContain('"args": ["farthing", "mcp"]')
})
