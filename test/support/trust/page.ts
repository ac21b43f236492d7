import { readFileSync } from 'node:fs'
import { routeList } from '../../../scripts/route-table.js'
import { evidenceGrades } from '../../../src/base/evidence.js'
import { errorsOf } from '../../../src/http/routing/errors.js'
import { runtimes } from '../../runtimes.js'
import { documented, onlyNamed } from '../contract/documented.js'
import { excused, sharedErrors } from '../contract/excused.js'
import { type Operation, operations } from '../contract/operations.js'
import { CONFORMANCE } from '../mcp/conformance-suite.js'
import { type DeclaredTest, declaredTests } from './declared-tests.js'

/**
 * The parts of docs/trust.md that follow from the sources, by name. The page also has parts that someone measured:
 * scripts/trust.mjs writes those, with their date and commit.
 */
export function sourceParts(counts: TestCounts): Record<string, string> {
  const contracts = declaredTests('test/contract')
  return {
    operations: describeOperations(counts),
    answers: describeAnswers(contracts),
    suites: describeSuites(),
    clients: describeClients(),
    attacks: listTests(declaredTests('test/attacks')),
    histories: listTests(declaredTests('test/model')),
    differences: describeDifferences(),
  }
}

/** How many tests of the contract see an answer of each operation, by its id. Someone counted: a new operation has no number. */
export type TestCounts = Readonly<Record<string, string>>

/** The counts that the page shows. */
export const countsIn = (page: string): TestCounts =>
  Object.fromEntries([...page.matchAll(/^\| `(\w+)` \|.*\| (\d+) \|$/gm)].map(([, id = '', count = '']) => [id, count]))

/** Replaces one part of the page. Throws if the page has no such part. */
export function withPart(page: string, name: string, content: string): string {
  const marks = new RegExp(`(<!-- ${name} -->\n)[\\s\\S]*?(<!-- end of ${name} -->)`)
  if (!marks.test(page)) throw new Error(`docs/trust.md has no part "${name}".`)
  return page.replace(marks, (_, begin: string, end: string) => `${begin}\n${content.trim()}\n\n${end}`)
}

export const table = (head: readonly string[], rows: readonly (readonly (string | number)[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

function describeOperations(counts: TestCounts): string {
  const grades = evidenceGrades.map((grade) => [
    `\`${grade}\``,
    operations.filter(({ evidence }) => evidence === grade).length,
  ])
  const rows = routeList
    .map((route) => {
      const under = operations.filter((operation) => operation.route === route)
      const counted = counts[route.id] ?? 'new'
      return [`\`${route.id}\``, under.map(called).join('<br>'), errorsOf(route).length, counted] as const
    })
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return [
    table(['grade', 'operations'], grades),
    '',
    table(['operation', 'call and grade', 'errors', 'tests'], rows),
  ].join('\n')
}

const called = ({ route, path, evidence }: Operation): string => `\`${route.method} ${path}\` ${evidence}`

function describeAnswers(contracts: readonly DeclaredTest[]): string {
  const errors = routeList.flatMap((route) => errorsOf(route).filter((code) => !sharedErrors.includes(code)))
  const wholly = runtimes.filter(({ holds }) => holds === 'whole').map(({ name }) => name)
  const partly = runtimes.filter(({ holds }) => holds !== 'whole' && holds !== 'nothing').map(({ name }) => name)
  return [
    `- The route table promises ${operations.length} successes and ${errors.length} refusals. A run of all tests fails if one was never answered.`,
    `- ${contracts.length} test cases of the contract run against ${list(wholly)}.`,
    `- Those of them that a runtime can break also run against ${list(partly)}. \`npm run test:all\` runs all of them there.`,
    `- Each answer in each test is compared with the OpenAPI document: status, media type, headers and shape.`,
  ].join('\n')
}

const list = (words: readonly string[]): string => words.join(', ').replace(/, ([^,]+)$/, ' and $1')

function describeSuites(): string {
  const modules = declaredTests('test/oidc').filter(({ file }) => file.endsWith('/conformance.test.ts'))
  const rows = declaredTests('test/contract/interface').length
  return table(
    ['suite', 'version', 'what runs it'],
    [
      [
        'Model Context Protocol conformance, server and authorization',
        CONFORMANCE,
        '`npm run test:all`, in `test/conformance/`',
      ],
      [
        `OpenID Connect: ${modules.length} modules of the basic, config and dynamic plans, by their names`,
        'written after the plans, not the suite itself',
        '`test/oidc/conformance.test.ts`',
      ],
      [
        `The tables of the Micro Payment Service Interface, row by row, in ${rows} test cases`,
        '4.0.0',
        '`test/contract/interface/`',
      ],
    ],
  )
}

/** Clients that others made, which tests use as they come. */
const clients = [
  'openid-client',
  'oauth4webapi',
  'oidc-client-ts',
  'passport-openidconnect',
  '@modelcontextprotocol/client',
  '@ai-sdk/mcp',
  'eventsource',
  '@microsoft/fetch-event-source',
  'msw',
]

function describeClients(): string {
  const { packages }: { packages: Record<string, { version: string }> } = JSON.parse(
    readFileSync('package-lock.json', 'utf8'),
  )
  const versions = clients.map((name) => {
    const version = packages[`node_modules/${name}`]?.version
    if (version === undefined) throw new Error(`${name} is not installed, but docs/trust.md lists it.`)
    return [`\`${name}\``, version]
  })
  return table(['client', 'version'], versions)
}

function listTests(tests: readonly DeclaredTest[]): string {
  const files = [...new Set(tests.map(({ file }) => file))]
  return files
    .map((file) => {
      const titles = tests.filter((each) => each.file === file).map(({ title }) => `- ${escaped(title)}`)
      return [`**\`${file}\`**`, '', ...titles].join('\n')
    })
    .join('\n\n')
}

/** For Markdown and for Vue, which reads the pages of the site. */
const escaped = (title: string): string =>
  title
    .replace(/[\\`*_[\]|]/g, '\\$&')
    .replace(/</g, '&lt;')
    .replace(/\{\{/g, '{ {')
    .replace(/\s+/g, ' ')

function describeDifferences(): string {
  const own = operations.filter(({ evidence }) => evidence === 'designed').length
  const missing = operations.filter(({ route }) => route.status === 501).map(called)
  return [
    `- ${documented.length} operations are documented, and ${onlyNamed.length} only named. ${own} are our own design: the live service may not have them, or have them differently. \`--evidence observed\` refuses them.`,
    `- Money is not real. Cards are charged by a test processor, unless you give one.`,
    missing.length > 0
      ? `- Not built: ${missing.join(', ')}. They answer 501.`
      : '- Every operation of the table answers. None is a stub.',
    ...Object.entries(excused).map(([answer, reason]) => `- No test of the contract sees \`${answer}\`: ${reason}.`),
  ].join('\n')
}
