import { twinByHostname } from '../../../money/twins/twin.js'
import { binderImports } from '../../../payments/statements/binder-import-row.js'
import type { Explainers } from '../facts/explainer.js'
import { corrected, first, type RefusedRequest, responseText, saidNumber } from '../facts/refused-request.js'
import { plural } from '../facts/words.js'

/** Binders that are not imported. */
export const binderImportExplainers = {
  async binder_invalid(asked) {
    const line = saidNumber(asked, 'line')
    const column = responseText(asked, 'column')
    const [, given] = /, not (".*")\.$/.exec(responseText(asked, 'error') ?? '') ?? []
    return {
      sentences: [
        `${line === undefined ? 'A line' : `Line ${line}`}${column === undefined ? '' : `, column \`${column}\`,`} ${column === undefined ? '' : 'must be '}${responseText(asked, 'expected') ?? 'must be a line of a binder'}.`,
        ...(given === undefined ? [] : [`It was ${given}.`]),
        'Nothing was imported. Correct the line, and send the whole file again.',
      ],
      facts: {
        line: line ?? null,
        column: column ?? null,
        expected: responseText(asked, 'expected') ?? null,
        given: given ?? null,
      },
    }
  },

  import_in_progress: interruptedImport,
  import_ended: interruptedImport,
} satisfies Explainers

async function interruptedImport(asked: RefusedRequest) {
  const { hostname = '' } = asked.params
  const twin = await twinByHostname(asked.tx, hostname)
  const row = twin && (await asked.tx.get(binderImports, twin.id))
  return {
    sentences: [
      row
        ? `An import into ${hostname} was \`${row.state}\`, with ${plural(row.pieces, 'piece')} read.`
        : `No import into ${hostname} was under way any more.`,
      asked.entry.code === 'import_in_progress'
        ? 'Send the file again once that import has ended.'
        : 'Read the binder of the twin to see its rows. If they are missing, send the file again.',
    ],
    facts: { hostname, state: row?.state ?? null, pieces: row?.pieces ?? null },
    fix:
      asked.entry.code === 'import_in_progress'
        ? corrected(asked, {})
        : first(asked, 'readBinder', {
            method: 'GET',
            path: `/v4/twin/${hostname}/binder`,
            ...(twin && { as: twin.owner }),
          }),
  }
}
