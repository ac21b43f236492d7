import { createHash } from 'node:crypto'

/** Lets only a sample of the mutants run: those that a random number chooses. The others count as nothing. */
export const strykerPlugins = [
  {
    kind: 'Checker',
    name: 'sample',
    value: {
      async init() {},

      /** @param {readonly { id: string, fileName: string, mutatorName: string, replacement: string, location: { start: { line: number, column: number } } }[]} mutants */
      async check(mutants) {
        const { share, random } = JSON.parse(process.env.FARTHING_MUTATION_SAMPLE ?? '{}')
        return Object.fromEntries(
          mutants.map(({ id, fileName, mutatorName, replacement, location: { start } }) => {
            const file = fileName.slice(fileName.search(/(src|adapters)[\\/](?!.*\b(src|adapters)[\\/])/))
            const text = [random, file, start.line, start.column, mutatorName, replacement].join()
            const drawn = createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
            return [id, drawn < share ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' }]
          }),
        )
      },
    },
  },
]
