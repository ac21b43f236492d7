import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { format, promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'
import { type Served, serve } from '../../adapters/node.js'
import { demo } from '../../sandbox/seed/demo.js'
import { createService, type Service } from '../../src/index.js'
import { commandsHere } from '../support/docs/commands-here.js'
import { scratchFolder } from '../support/docs/folder.js'
import { type Block, blocksOf, pages, quotesOf, readPage, root } from '../support/docs/markdown.js'
import { runShell, writeStandIns } from '../support/docs/shell.js'
import { howMuch } from '../support/how-much.js'
import { setUp } from '../support/set-up.js'

const run = promisify(execFile)
const HERE = 'http://127.0.0.1:4242'

let bin = ''
let socket = ''
let endCommands = async () => {}
const scratch = scratchFolder()

beforeAll(async () => {
  await setUp()
  // For code that readers do not see.
  vi.stubEnv('PROJECT', root)
  bin = join(scratch(), 'bin')
  await writeStandIns(bin)
  // Its path may not be long.
  const sockets = await mkdtemp(join(tmpdir(), 'farthing-'))
  socket = join(sockets, 'tests')
  const close = await commandsHere(socket)
  endCommands = async () => {
    await close()
    await rm(sockets, { recursive: true })
  }
})

afterAll(() => endCommands())

const isFile = ({ title }: Block): boolean => title !== undefined && /\.\w+$/.test(title)
/** A copy of a file of the project, or of a part of it. */
const isCopy = ({ title = '' }: Block): boolean => title.includes('/') && existsSync(join(root, title))
const isScript = ({ language }: Block): boolean => ['js', 'ts', 'mjs'].includes(language)
const isTestFile = ({ text }: Block): boolean => /from 'vitest'$/m.test(text)
const isShell = ({ language }: Block): boolean => language === 'sh'

/** `npm test` runs the README and the quick start, and of the guides what costs little or is the only one of its kind. */
const costly = [
  'agents-in-tests',
  'break-x402',
  'payback-element',
  'rehearse',
  'test-an-agent-that-pays',
  'test-an-mpp-shop',
].map((name) => `docs/guides/${name}.md`)
const withCommands = ['README.md', 'docs/quick-start.md', 'docs/guides/curl.md', 'docs/guides/your-own-seed.md']
const withTests = ['docs/quick-start.md']

const blocks = pages.flatMap((page) => blocksOf(page))
const ours = blocks.filter((block) => !isCopy(block) && block.testedBy === undefined)

/** Scripts, each with the blocks that continue it. */
function scriptsIn(all: readonly Block[]): Block[][] {
  const scripts: Block[][] = []
  for (const block of all.filter((each) => isScript(each) && !isTestFile(each)))
    if (block.isContinued) scripts.at(-1)?.push(block)
    else scripts.push([block])
  return scripts
}

/** The output that a block shows, behind the block that prints it. */
const outputs = new Map(
  ours.flatMap((block, i) => {
    const printing = ours[i - 1]
    return block.isOutput && printing ? [[printing, block] as const] : []
  }),
)

const placeOf = ({ page, line }: Block): string => `${page}:${line}`
const textOf = ({ before, text, after }: Block): string => `${before}${text}${after}`

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/** Expects what a block shows. `…` stands for anything. JSON may be laid out in any way. */
function expectShown(printed: string, { language, text, ...at }: Block): void {
  const laidOut = (given: string) => (language === 'json' ? given.replace(/\s+/g, '') : given.trim())
  const pattern = laidOut(text).split('…').map(escaped).join('[\\s\\S]*')
  expect(laidOut(printed), placeOf({ language, text, ...at })).toMatch(new RegExp(`^${pattern}$`))
}

/** A folder for a page, with the files that it shows. */
async function folderOf(page: string): Promise<string> {
  const own = join(scratch(), page.replace(/\W+/g, '-'))
  await mkdir(own, { recursive: true })
  for (const block of ours.filter((each) => each.page === page && isFile(each))) {
    await mkdir(dirname(join(own, block.title ?? '')), { recursive: true })
    await writeFile(join(own, block.title ?? ''), block.text)
  }
  return own
}

let served: Served | undefined
let service: Service | undefined
/** The statuses of calls that the sandbox refused. */
let refused: number[] = []

/** Replaces the address of a sandbox on the reader's machine by that of one that runs. */
async function reached(text: string): Promise<string> {
  if (!text.includes(HERE)) return text
  served ??= await serve(
    (baseUrl) => {
      const started = createService({ baseUrl, sandbox: true, seed: demo.seed })
      service = started
      return {
        async respond(...given: Parameters<Service['respond']>) {
          const answer = await started.respond(...given)
          if (answer.status >= 400) refused.push(answer.status)
          return answer
        },
      }
    },
    { port: 0 },
  )
  return text.replaceAll(HERE, served.url)
}

afterEach(async () => {
  await served?.close()
  await service?.close()
  served = service = undefined
  refused = []
})

it('reads what a block says of itself', () => {
  const page = [
    '<!-- before\nlet a = 1\n-->\n\n```js\na += 1\n```\n\n<!-- after\nexpect(a)\n-->',
    '1. A step\n\n   ```js continued [a.js]\n   if (a)\n     b()\n   ```',
    '```text output\n2\n```\n\n```html tested-by=test/a.test.ts\n<p>\n```\n\n<<< ../../a.js#part {2}',
  ].join('\n\n')
  expect(blocksOf('docs/guides/a.md', page)).toMatchObject([
    { line: 5, language: 'js', before: 'let a = 1\n', text: 'a += 1\n', after: 'expect(a)\n', isContinued: false },
    { line: 15, title: 'a.js', isContinued: true, text: 'if (a)\n  b()\n' },
    { line: 20, language: 'text', isOutput: true, text: '2\n' },
    { line: 24, language: 'html', testedBy: 'test/a.test.ts' },
  ])
  expect(quotesOf('docs/guides/a.md', page)).toEqual([{ path: 'a.js', region: 'part' }])
})

describe('Scripts of the documentation', () => {
  it.each(
    scriptsIn(ours.filter(({ page }) => !howMuch(costly, []).includes(page))).map((script) => ({
      script,
      place: script.map(placeOf).join(', '),
    })),
  )('$place prints what it promises', async ({ script, place }) => {
    const [first] = script
    const cwd = await folderOf(first?.page ?? '')
    const text = await reached(script.map(textOf).join('\n'))
    const file = join(cwd, `${place.replace(/\W+/g, '-')}.${first?.language}`)
    await writeFile(file, text)
    const promised = [...text.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => line)
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    const home = process.cwd()
    process.chdir(cwd)
    try {
      await import(/* @vite-ignore */ file)
      const printed = log.mock.calls.map((given) => format(...given))
      if (promised.length > 0) expect(printed).toEqual(promised)
      for (const block of script) {
        const shown = outputs.get(block)
        if (shown) expectShown(printed.join('\n'), shown)
      }
    } finally {
      process.chdir(home)
      log.mockRestore()
    }
  })
})

/** Their readers copy a block into a file of their own. */
const copied = [
  'docs/guides/retries.md',
  'docs/guides/webhooks.md',
  'docs/guides/signing-in.md',
  'docs/guides/funding.md',
]

const programsOf = (page: string) => blocks.filter((block) => block.page === page && isScript(block))

describe('The scripts of a page whose readers copy them', () => {
  it.each(copied)('are whole programs in %s: nothing runs before or after them that readers do not see', (page) => {
    expect(programsOf(page).length).toBeGreaterThan(0)
    for (const block of programsOf(page))
      expect([placeOf(block), block.isContinued, block.before, block.after]).toEqual([placeOf(block), false, '', ''])
  })

  it.each(howMuch(copied.slice(0, 1), copied))('run by themselves in %s, and end', async (page) => {
    const programs = programsOf(page).filter(({ testedBy }) => testedBy === undefined)
    for (const [i, block] of programs.entries()) {
      const file = join(await folderOf(page), `program-${i}.mjs`)
      await writeFile(file, block.text)
      const { stdout } = await run(process.execPath, [file], { timeout: 30_000 })
      const promised = [...block.text.matchAll(/console\.log\(.*\) \/\/ (.*)$/gm)].map(([, line]) => line)
      expect(stdout.trim().split('\n'), placeOf(block)).toEqual(promised)
    }
  })
})

describe('Commands of the documentation', () => {
  it.each(howMuch(withCommands, [...new Set(ours.filter(isShell).map(({ page }) => page))]))(
    '%s runs from top to bottom',
    async (page) => {
      const own = ours.filter((block) => block.page === page && isShell(block))
      expect(own).not.toEqual([])
      const scripts: string[] = []
      for (const block of own) scripts.push(await reached(textOf(block)))
      const printed = await runShell(scripts, { cwd: await folderOf(page), bin, socket })
      for (const [i, block] of own.entries()) {
        const shown = outputs.get(block)
        if (shown) expectShown(printed[i] ?? '', shown)
      }
      const text = own.map(textOf).join('')
      expect(refused.filter((status) => !text.includes(String(status)))).toEqual([])
    },
    60_000,
  )
})

describe('Blocks of the documentation', () => {
  it('pass, if they are tests', async () => {
    const folder = scratch()
    const all = ours.filter((block) => isScript(block) && isTestFile(block))
    const tests = all.filter(({ page }) => howMuch(withTests, pages).includes(page))
    expect(tests).not.toEqual([])
    for (const [i, block] of tests.entries()) {
      expect(block.language, placeOf(block)).toMatch(/^(js|ts)$/)
      await writeFile(join(folder, `block-${i}.test.${block.language}`), textOf(block))
    }
    // Its own, so that it runs what was built and not the sources: like a package in `node_modules`, whose code Vitest leaves.
    const settings = { pool: 'threads', maxWorkers: 1, isolate: false, server: { deps: { external: ['/dist/'] } } }
    const test = JSON.stringify({ include: ['block-*.test.*'], ...settings })
    await writeFile(join(folder, 'vitest.config.js'), `export default { test: ${test} }`)
    const vitest = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--root', folder, '--reporter', 'json']
    const { stdout } = await run(process.execPath, [...vitest, '--passWithNoTests'], { cwd: folder, timeout: 60_000 })
    expect(JSON.parse(stdout)).toMatchObject({ success: true, numPassedTestSuites: expect.any(Number) })
  })

  it('are what the files hold that they are copies of', () => {
    const wrong = blocks
      .filter(isCopy)
      .filter(({ title = '', text }) => !readFileSync(join(root, title), 'utf8').includes(text.trimEnd()))
    expect(wrong.map(placeOf)).toEqual([])
  })

  it('are quoted from files and regions that exist', () => {
    const missing = pages.flatMap((page) =>
      quotesOf(page)
        .filter(({ path, region }) => {
          if (!existsSync(join(root, path))) return true
          return region !== undefined && !readFileSync(join(root, path), 'utf8').includes(`#region ${region}`)
        })
        .map(({ path, region }) => `${page}: ${path}${region === undefined ? '' : `#${region}`}`),
    )
    expect(missing).toEqual([])
  })

  it('have a test of their own where they say so', () => {
    const named = blocks.filter(({ testedBy }) => testedBy !== undefined)
    const missing = named.filter(({ testedBy = '', page }) => {
      const path = join(root, testedBy)
      return !existsSync(path) || !readFileSync(path, 'utf8').includes(page)
    })
    expect(missing.map(placeOf)).toEqual([])
  })

  it('continue a script, or show what one printed, only where there is one', () => {
    const lost = ours.filter((block, i) => {
      const last = ours.slice(0, i).filter(({ page }) => page === block.page)
      const runs = (each: Block | undefined) => each !== undefined && (isScript(each) || isShell(each))
      return (block.isContinued && !last.some(isScript)) || (block.isOutput && !runs(last.at(-1)))
    })
    expect(lost.map(placeOf)).toEqual([])
  })

  it('take every hidden comment of their page', () => {
    const hidden = pages.map((page) => [page, readPage(page).match(/^ *<!-- *(before|after)\b/gim)?.length ?? 0])
    const taken = pages.map((page) => {
      const own = blocksOf(page).flatMap(({ before, after }) => [before, after])
      return [page, own.filter((code) => code !== '').length]
    })
    expect(taken).toEqual(hidden)
  })

  it('parse, if nothing runs them', () => {
    for (const block of ours) {
      if (block.language === 'json') expect(() => JSON.parse(block.text), placeOf(block)).not.toThrow()
      if (block.language === 'yaml') expect(() => parse(block.text), placeOf(block)).not.toThrow()
    }
  })

  it('are in a language that something here runs or reads', () => {
    const known = ['js', 'ts', 'mjs', 'sh', 'json', 'yaml', 'text']
    const unknown = ours.filter(({ language }) => !known.includes(language))
    // Quote such a block from a file (`<<<`, or its path as the title), or name its test: tested-by=test/….test.ts.
    expect(unknown.map((block) => `${placeOf(block)} ${block.language}`)).toEqual([])
  })
})
