import type { Command, Option } from 'commander'
import { printText } from '../terminal.js'

type Shell = 'bash' | 'zsh' | 'fish'
export type ValuesOf = (option: string) => readonly string[] | undefined

export function completion(shell: Shell, program: Command, valuesOf: ValuesOf): void {
  const scripts: Readonly<Record<Shell, (commands: readonly KnownCommand[]) => string>> = { bash, zsh, fish }
  printText(scripts[shell](program.commands.map((command) => known(command, valuesOf))))
}

type Suggestion = 'file' | 'command' | 'text' | readonly string[]

interface KnownOption {
  readonly long: string
  readonly short: string | undefined
  readonly help: string
  /** Undefined: it takes no value. */
  readonly value: Suggestion | undefined
}

interface KnownCommand {
  readonly name: string
  readonly help: string
  readonly options: readonly KnownOption[]
  readonly arguments: readonly Suggestion[]
}

function known(command: Command, valuesOf: ValuesOf): KnownCommand {
  const help = command.createHelp()
  return {
    name: command.name(),
    help: help.subcommandDescription(command),
    options: help.visibleOptions(command).map((option) => knownOption(option, valuesOf)),
    arguments: command.registeredArguments.map(
      (argument) => argument.argChoices ?? suggestionFor[argument.name()] ?? 'file',
    ),
  }
}

/** What a shell suggests for an argument, by its name. Most are files. */
const suggestionFor: Readonly<Record<string, Suggestion>> = {
  command: 'command',
  id: ['last', 'last-error'],
  type: 'text',
}

function knownOption({ long = '', short, flags, description, argChoices }: Option, valuesOf: ValuesOf): KnownOption {
  const name = long.slice(2)
  const written = flags.includes('<file>') ? 'file' : flags.includes('<') ? 'text' : undefined
  return { long: name, short: short?.slice(1), help: description, value: valuesOf(name) ?? argChoices ?? written }
}

const flagsOf = ({ long, short }: KnownOption): string[] => [`--${long}`, ...(short ? [`-${short}`] : [])]
/** In single quotes, which all three shells read alike. */
const shellWord = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const lines = (...parts: (string | readonly string[])[]): string => `${parts.flat().join('\n')}\n`

function bash(commands: readonly KnownCommand[]): string {
  const names = commands.map(({ name }) => name)
  const fill = (value: Suggestion): string => {
    if (typeof value !== 'string') return `_farthing_words ${shellWord(value.join(' '))}`
    return { file: '_farthing_lines -f', command: '_farthing_lines -c', text: ':' }[value]
  }
  const values = new Map(
    commands.flatMap(({ options }) =>
      options.flatMap((option) => (option.value ? [[flagsOf(option).join('|'), option.value] as const] : [])),
    ),
  )
  const ofCommand = commands.map(({ name, options, arguments: [first = 'text'] }) => {
    const flags = fill(options.flatMap(flagsOf))
    return `    ${name}) if [[ $current == -* ]]; then ${flags}; else ${fill(first)}; fi ;;`
  })
  return lines(
    '# Completes farthing in bash. Put this into ~/.bashrc: eval "$(farthing completion bash)"',
    `_farthing_words() { local IFS=$' \\t\\n'; COMPREPLY=($(compgen -W "$1" -- "$current")); }`,
    `_farthing_lines() { local IFS=$'\\n'; COMPREPLY=($(compgen "$1" -- "$current")); }`,
    '_farthing() {',
    `  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} command= i`,
    '  COMPREPLY=()',
    '  # Bash makes a word of the sign in --evidence=designed.',
    `  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi`,
    '  for ((i = 1; i < COMP_CWORD; i++)); do',
    `    case \${COMP_WORDS[i-1]} in ${[...values.keys()].join('|')}) continue ;; esac`,
    `    case \${COMP_WORDS[i]} in`,
    '      # What follows is a command of its own.',
    '      --) if ((i == COMP_CWORD - 1)); then _farthing_lines -c; else _farthing_lines -f; fi; return ;;',
    `      ${names.join('|')}) command=\${command:-\${COMP_WORDS[i]}} ;;`,
    '    esac',
    '  done',
    '  case $previous in',
    [...values].map(([flags, value]) => `    ${flags}) ${fill(value)}; return ;;`),
    '  esac',
    `  case \${command:-start} in`,
    ofCommand,
    '  esac',
    `  if [[ -z $command && $current != -* ]]; then ${fill(names)}; fi`,
    '}',
    'complete -o filenames -F _farthing farthing',
  )
}

function zsh(commands: readonly KnownCommand[]): string {
  const action = (value: Suggestion): string =>
    typeof value === 'string' ? { file: '_files', command: '_command_names', text: ' ' }[value] : `(${value.join(' ')})`
  const escaped = (text: string) => text.replace(/[:[\]\\]/g, '\\$&')
  const optionSpecs = ({ options }: KnownCommand) =>
    options.flatMap((option) =>
      flagsOf(option).map((flag) => {
        const takes = option.value ? `:${option.long}:${action(option.value)}` : ''
        return shellWord(`*${flag}[${escaped(option.help)}]${takes}`)
      }),
    )
  const ofCommand = commands.map((command) => {
    const given = command.arguments.map((value, place) => shellWord(`${place + 2}:argument:${action(value)}`))
    const more = command.arguments.includes('command') ? [shellWord('*::argument:_normal')] : []
    const first = command.name === 'start' ? shellWord('1:command:->command') : shellWord(`1:command:(${command.name})`)
    const rest = command.arguments.includes('command') ? [] : given
    return `    ${command.name}) _arguments ${[...optionSpecs(command), first, ...rest, ...more].join(' ')} ;;`
  })
  return lines(
    '#compdef farthing',
    '# Completes farthing in zsh. Put this into ~/.zshrc, after compinit: eval "$(farthing completion zsh)"',
    '_farthing() {',
    '  local command=start word state',
    '  local -a commands',
    `  commands=(${commands.map(({ name, help }) => shellWord(`${name}:${escaped(help)}`)).join(' ')})`,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a list of zsh.
    '  for word in ${words[2,CURRENT-1]}; do',
    `    case $word in (${commands.map(({ name }) => name).join('|')}) command=$word; break ;; esac`,
    '  done',
    '  case $command in',
    ofCommand,
    '  esac',
    '  if [[ $state == command ]]; then _describe command commands; fi',
    '}',
    'compdef _farthing farthing',
  )
}

function fish(commands: readonly KnownCommand[]): string {
  const names = commands.map(({ name }) => name).join(' ')
  const takes = (value: Suggestion): string =>
    typeof value === 'string'
      ? { file: '-r -F', command: '-x', text: '-x' }[value]
      : `-x -a ${shellWord(value.join(' '))}`
  const ofCommand = (command: KnownCommand): string[] => {
    const others = commands.filter((other) => other !== command).map(({ name }) => name)
    const when = `-n ${shellWord(
      command.name === 'start'
        ? `not __fish_seen_subcommand_from ${others.join(' ')}`
        : `__fish_seen_subcommand_from ${command.name}`,
    )}`
    const options = command.options.map(({ long, short, help, value }) => {
      const parts = [`-l ${long}`, short && `-s ${short}`, value && takes(value), `-d ${shellWord(help)}`]
      return `complete -c farthing ${when} ${parts.filter(Boolean).join(' ')}`
    })
    const [first] = command.arguments
    const given = first === undefined ? [] : [`complete -c farthing ${when} ${argument(first)}`]
    return [...options, ...given]
  }
  const argument = (value: Suggestion): string => {
    if (typeof value !== 'string') return `-a ${shellWord(value.join(' '))}`
    return { file: '-F', command: `-a '(__fish_complete_subcommand)'`, text: '' }[value]
  }
  return lines(
    '# Completes farthing in fish. Run once: farthing completion fish > ~/.config/fish/completions/farthing.fish',
    'complete -c farthing -f',
    commands.map(
      ({ name, help }) =>
        `complete -c farthing -n ${shellWord(`not __fish_seen_subcommand_from ${names}`)} -a ${name} -d ${shellWord(help)}`,
    ),
    commands.flatMap(ofCommand),
  )
}
