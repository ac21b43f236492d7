import { execFile } from 'node:child_process'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { root } from './markdown.js'

const run = promisify(execFile)

/** Programs of others that readers run, and tests do not. */
const others = ['docker', 'podman', 'code', 'open']

/** Commands that a shell of the documentation finds first: see `stand-in.mjs`. */
const standIns = ['farthing', 'npx', 'npm']

/** Writes the stand-ins into a folder, for the PATH of a shell. */
export async function writeStandIns(folder: string): Promise<void> {
  await mkdir(folder)
  const script = join(root, 'test/support/docs/stand-in.mjs')
  const write = (name: string, line: string) => writeFile(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
  for (const name of standIns) await write(name, `exec '${process.execPath}' '${script}' ${name} "$@"`)
  for (const name of others) await write(name, 'exit 0')
  await symlink(process.execPath, join(folder, 'node'))
}

/** Runs scripts one after another in one shell, and returns what each printed. Throws with all output if one fails. */
export async function runShell(
  scripts: readonly string[],
  { cwd, bin, socket }: { readonly cwd: string; readonly bin: string; readonly socket: string },
): Promise<string[]> {
  const END = '--- the end of a block ---'
  const whole = scripts.map((script) => `${script.trimEnd()}\necho '${END}'\n`).join('')
  const env = {
    ...process.env,
    PROJECT: root,
    TESTS_SOCKET: socket,
    PATH: `${bin}:${dirname(process.execPath)}:${process.env.PATH}`,
  }
  const { stdout } = await run('sh', ['-eu', '-c', whole], { cwd, env, timeout: 60_000 })
  return stdout.split(`${END}\n`).slice(0, -1)
}
