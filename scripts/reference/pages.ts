import { commandLinePage } from './command-line.js'
import { controlsPage } from './controls.js'
import { designedPage } from './designed.js'
import { document, fileOfArea, operations } from './document.js'
import { errorsPage } from './errors.js'
import { eventsPage } from './events.js'
import { code, page, prose, table } from './markdown.js'
import { operationPages } from './operations.js'
import { optionsPage } from './options.js'
import { platformsPage } from './platforms.js'

/** Every page of `docs/reference/`, by its path there. */
export const referencePages = (): ReadonlyMap<string, string> =>
  new Map([
    ['index.md', indexPage()],
    ...operationPages(),
    ['options.md', optionsPage()],
    ['controls.md', controlsPage()],
    ['command-line.md', commandLinePage()],
    ['events.md', eventsPage()],
    ['errors.md', errorsPage()],
    ['designed.md', designedPage()],
    ['where-it-runs.md', platformsPage()],
  ])

const indexPage = (): string =>
  page(
    '# Reference',
    'These pages are made from the sources of this version: the route table, the types of options, and the command line. `GET /v4/openapi.json` has the same operations in OpenAPI 3.1.',
    prose(document.info.description),
    '## Operations',
    ...table(
      ['area', 'what it is about', 'operations'],
      document.tags.map(({ name, description }) => [
        `[${name}](operations/${fileOfArea(name)}.md)`,
        prose(description),
        String(operations.filter(({ operation }) => operation.tags[0] === name).length),
      ]),
    ),
    '## Everything else',
    [
      '- [Options](options.md) of `createService` and of every other function',
      '- [Sandbox controls](controls.md), over HTTP and as methods',
      '- [Command line](command-line.md): commands, flags and variables',
      '- [Events](events.md) and their types',
      '- [Errors](errors.md) and their codes',
      '- [How long farthing keeps what](../retention.md)',
      '- [What we designed ourselves](designed.md)',
      '- [Where it runs](where-it-runs.md): runtimes, frameworks, bundlers, browsers, databases',
    ].join('\n'),
    `An operation is named by its id, such as ${code('createPayment')}. The id is also its \`operationId\` in OpenAPI.`,
  )
