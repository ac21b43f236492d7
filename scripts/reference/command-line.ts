import type { Command, Option } from 'commander'
import { settings } from '../../sandbox/config.js'
import { program } from '../../sandbox/program.js'
import { code, page, prose, table } from './markdown.js'

/** Every command with its options, as the program itself knows them. */
export const commands = (): readonly Command[] => program().commands

/** Options that a reader finds in `--help`. */
export const flagsOf = (command: Command): readonly Option[] => command.options.filter(({ hidden }) => !hidden)

/** What a flag is called elsewhere. */
const namesElsewhere: ReadonlyMap<string, { readonly setting: string; readonly variable: string }> = new Map(
  Object.entries(settings).map(([setting, { flags }]) => {
    const flag = /--[a-z-]+/.exec(flags)?.[0] ?? ''
    return [flag, { setting, variable: `FARTHING_${flag.slice(2).replaceAll('-', '_').toUpperCase()}` }]
  }),
)

export const commandLinePage = (): string =>
  page(
    '# Command line',
    '`npx farthing` starts a sandbox. In a clone of the project, `npm start` does the same.',
    'Flags win over environment variables, then `farthing.config.json` or `farthing.config.yaml`, then the defaults. `farthing init` writes a first config file. `PORT` stands in for a missing `FARTHING_PORT`. A list in a variable is separated by commas.',
    '## Settings',
    ...table(
      ['flag', 'variable', 'in the config file'],
      [...namesElsewhere].map(([flag, { setting, variable }]) => [code(flag), code(variable), code(setting)]),
    ),
    ...commands().flatMap((command) => [
      `## farthing ${command.name()}`,
      prose(command.description()),
      code(`farthing ${command.name()} ${command.usage()}`.trim()),
      ...table(
        ['flag', 'what it does'],
        flagsOf(command).map(({ flags, description }) => [code(flags), prose(description)]),
      ),
    ]),
  )
