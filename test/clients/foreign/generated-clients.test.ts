import { copyFileSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Host, startHost } from '../../support/browser/host.js'
import { need, npmPackages, run } from '../support/toolchain.js'

/** Clients generated from the OpenAPI document of a server compile strictly, and sell an article there. */

let host: Host
const folders: string[] = []
beforeAll(async () => {
  host = await startHost()
})
afterAll(async () => {
  for (const folder of folders) rmSync(folder, { recursive: true })
  await host.close()
})

/** What a new strict project has. */
const COMPILER_OPTIONS = {
  target: 'ES2023',
  lib: ['ES2023', 'DOM', 'DOM.Iterable'],
  module: 'NodeNext',
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  outDir: 'out',
}
const COMPILER = { typescript: '5.9.3', '@types/node': '22.20.5' }

interface Generator {
  /** The program in `generated/` that uses the client. */
  readonly program: string
  readonly packages: Record<string, string>
  /** The command that generates the client from `openapi.json`. */
  readonly command: readonly string[]
  /** How many lines it prints if it has nothing to complain of. */
  readonly lines: number
}

const generators: Generator[] = [
  {
    program: 'openapi-fetch',
    packages: { 'openapi-typescript': '7.13.0', 'openapi-fetch': '0.17.0' },
    command: ['openapi-typescript', 'openapi.json', '--output', 'farthing.d.ts'],
    lines: 2,
  },
  {
    program: 'hey-api',
    packages: { '@hey-api/openapi-ts': '0.99.0' },
    command: ['openapi-ts', '--input=openapi.json', '--output=client', '--client=@hey-api/client-fetch'],
    lines: 4,
  },
  {
    program: 'orval',
    packages: { orval: '8.38.0' },
    command: ['orval', '--config=orval.json'],
    lines: 2,
  },
]

for (const { program, packages, command, lines } of generators)
  it(`${Object.entries(packages).flat().join(' ')} generates a client that sells an article`, async (context) => {
    const tools = await need(context, npmPackages(program, { ...packages, ...COMPILER }))
    const cwd = mkdtempSync(join(tmpdir(), `farthing-${program}-`))
    folders.push(cwd)
    symlinkSync(join(tools, 'node_modules'), join(cwd, 'node_modules'), 'junction')
    copyFileSync(fileURLToPath(new URL(`generated/${program}.ts`, import.meta.url)), join(cwd, 'shop.ts'))
    writeFileSync(join(cwd, 'openapi.json'), JSON.stringify((await host.call('GET', '/v4/openapi.json')).body))
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ type: 'module' }))
    writeFileSync(join(cwd, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER_OPTIONS, files: ['shop.ts'] }))
    writeFileSync(join(cwd, 'orval.json'), JSON.stringify({ farthing: ORVAL }))

    const [generator = '', ...options] = command
    const generated = await run([bin(tools, generator), ...options], { cwd, env: { NO_COLOR: '1' } })
    expect(generated.code, generated.output).toBe(0)
    expect(generated.output.split('\n').filter(Boolean), generated.output).toHaveLength(lines)
    expect(generated.output).not.toMatch(/warn|error|⚠/i)
    expect(await run([bin(tools, 'tsc')], { cwd })).toEqual({ code: 0, output: '' })
    const { code, output } = await run([process.execPath, join(cwd, 'out', 'shop.js'), host.url])
    expect(code, output).toBe(0)
    expect(JSON.parse(output)).toEqual({ amount: 0.25, valid: true, again: 'nonce_used' })
    expect(await host.service.sandbox?.ledger()).toMatchObject({ ok: true })
  })

/** Its paths begin with the address of the server that the document names. */
const ORVAL = {
  input: 'openapi.json',
  output: { target: 'client/farthing.ts', client: 'fetch', baseUrl: { getBaseUrlFromSpecification: true } },
}

const bin = (tools: string, name: string): string => join(tools, 'node_modules', '.bin', name)
