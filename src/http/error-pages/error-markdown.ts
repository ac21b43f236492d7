import type { ExplainedError, ListedError } from './explained-error.js'

/** Longer lists of operations say only how many there are. */
const MOST_OPERATIONS = 20

/** The explanation of an error as Markdown. */
export function errorMarkdown(explained: ExplainedError): string {
  const { code, status, error, meaning, causes, fixes, fields, operations } = explained
  const short = operations.length <= MOST_OPERATIONS
  return [
    `# ${code}`,
    `**HTTP ${status}.** ${error}`,
    '## What it means',
    meaning,
    ...section('Usual causes', causes),
    ...section('How to fix it', fixes),
    ...section(
      'Fields of the error',
      fields.map(({ name, type, description }) => `\`${name}\` (${type}): ${description}`),
    ),
    ...(short
      ? section(
          'Operations that answer with it',
          operations.map(({ id, method, path }) => `\`${id}\`: \`${method} ${path}\``),
        )
      : ['## Operations that answer with it', `${operations.length} operations.`]),
  ]
    .join('\n\n')
    .concat('\n')
}

/** All errors as a Markdown list with links. */
export const errorListMarkdown = (errors: readonly ListedError[]): string =>
  ['# Errors', errors.map(({ code, status, error, docs }) => `- ${status} [\`${code}\`](${docs}): ${error}`).join('\n')]
    .join('\n\n')
    .concat('\n')

const section = (heading: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`## ${heading}`, items.map((item) => `- ${item}`).join('\n')]
