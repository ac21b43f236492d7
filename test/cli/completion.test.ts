import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { cli } from '../support/cli.js'

const farthing = cli()

const scriptFor = async (shell: string): Promise<string> => {
  const { code, stdout, stderr } = await farthing.run(['completion', shell])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

test('bash completes commands, options, their values and files', async () => {
  const script = join(farthing.directory, 'farthing.bash')
  await writeFile(script, await scriptFor('bash'))
  await mkdir(join(farthing.directory, 'states'))
  for (const name of ['a state.json', 'seed.yaml']) await writeFile(join(farthing.directory, 'states', name), '')
  // What bash gives a completion function: the words so far, the last one unfinished.
  const asked: [words: string[], suggestions: string[]][] = [
    [['ex'], ['exec', 'export', 'explain']],
    [
      ['replay', '--in', ''],
      ['fork', 'place'],
    ],
    [
      ['replay', 'last'],
      ['last', 'last-error'],
    ],
    [['com'], ['completion']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['--ev'], ['--evidence']],
    [['exec', '--mem'], ['--memory']],
    [['export', '--memory'], []],
    [
      ['--evidence', ''],
      ['documented', 'observed', 'named', 'designed'],
    ],
    [['--evidence', '=', 'des'], ['designed']],
    [['--port', ''], []],
    [['--seed', 'states/s'], ['states/seed.yaml']],
    [['import', 'states/a'], ['states/a state.json']],
    // The name of a file may be that of a command.
    [['--data', 'export', '--cl'], ['--clock']],
    // After `--` comes a command of its own.
    [['exec', '--', 'farthing-comp'], []],
    [['exec', '--', 'node', '--ev', 'states/s'], ['states/seed.yaml']],
  ]
  const ask = asked.map(([words]) => {
    const given = ['farthing', ...words].map((word) => `'${word}'`).join(' ')
    return `COMP_WORDS=(${given}); COMP_CWORD=${words.length}; _farthing; (IFS='|'; echo "\${COMPREPLY[*]}")`
  })
  const { stdout } = await promisify(execFile)('bash', ['-c', [`source '${script}'`, ...ask].join('\n')], {
    cwd: farthing.directory,
  })
  const suggested = stdout.split('\n').map((line) => line.split('|').filter(Boolean))
  expect(asked.map(([words], i) => [words, suggested[i]])).toEqual(asked)
})

test('zsh and fish know every command and option of the help', async () => {
  const { stdout: help } = await farthing.run(['--help'])
  const options = [...new Set(help.match(/(?<=^ {2}(?:-\w, )?--)[a-z0-9-]+/gm))].filter((name) => name !== 'version')
  const commands = [...new Set(help.match(/(?<=^ {2})[a-z]+(?= )/gm))]
  expect(options).toContain('export-on-exit')
  expect(commands).toContain('completion')
  const [zsh, fish] = [await scriptFor('zsh'), await scriptFor('fish')]
  for (const name of options) {
    expect(zsh).toContain(`'*--${name}[`)
    expect(fish).toContain(` -l ${name} `)
  }
  for (const name of commands) {
    expect(zsh).toContain(`'${name}:`)
    expect(fish).toContain(` -a ${name} -d `)
  }
})

test('refuses a shell that it does not know', async () => {
  const { code, stderr } = await farthing.run(['completion', 'csh'])
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Allowed choices are bash, zsh, fish'),
  })
})
