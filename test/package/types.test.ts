import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'vitest'
import { platforms } from '../../scripts/platforms.js'
import { packed, project } from './packed.js'

/** A strict project of someone who has no types of Node, checks the declarations of libraries too, and imports all we export. */

const root = fileURLToPath(new URL('../..', import.meta.url))
const tarball = packed()

const compilers = platforms.compilers.typescript.versions
const resolutions = [
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
]

const { exports: exported, peerDependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
const subpaths: string[] = Object.keys(exported)
  .filter((path) => !path.endsWith('.json'))
  .map((path) => `farthing${path.slice(1)}`)
/** The types of test runners need those of Node, and pass no check of libraries. */
const ofRunners = ['farthing/vitest', 'farthing/playwright']

test(`compiles ${subpaths.length} subpaths with every TypeScript and resolution`, {
  timeout: 900_000,
}, async (context) => {
  const named = [
    '@opentelemetry/api',
    'msw',
    'nodemailer',
    'postgres',
    'stripe',
    'vitest',
    '@playwright/test',
    '@types/node',
  ]
  const peers = named.map((name) => `${name}@${peerDependencies[name] ?? '20'}`)
  const typescripts = compilers.map((version) => `typescript${version}@npm:typescript@~${version}`)
  const stranger = await project(context, [await tarball(), ...peers, ...typescripts])

  const write = (name: string, text: string) => writeFile(join(stranger.folder, name), text)
  const strict = subpaths.filter((path) => !ofRunners.includes(path))
  const names = strict.map((_, at) => `part${at}`)
  const imports = strict.map((path, at) => `import * as ${names[at]} from '${path}'`)
  await write('everything.ts', `${imports.join('\n')}\nconsole.log(${names.join(', ')})\n${PAYING}`)
  await write('tests.ts', TESTING)
  const projects = {
    'everything.ts': STRICT,
    'tests.ts': { ...STRICT, types: ['node'], skipLibCheck: true, lib: ['es2023', 'dom', 'dom.iterable'] },
  }
  for (const resolution of resolutions)
    for (const compiler of compilers)
      for (const [file, settings] of Object.entries(projects)) {
        await write('tsconfig.json', JSON.stringify({ compilerOptions: { ...resolution, ...settings }, files: [file] }))
        const tsc = join(stranger.folder, 'node_modules', `typescript${compiler}`, 'bin', 'tsc')
        await stranger.run([process.execPath, tsc, '--project', '.'])
      }
})

const STRICT = {
  target: 'es2022',
  lib: ['es2022', 'dom', 'dom.iterable'],
  types: [],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: false,
  noEmit: true,
}

/** Types hold what they promise: an `any` in a declaration would let the last line pass. */
const PAYING = `
import { createService } from 'farthing'
const service = createService({ sandbox: true })
const { users } = await service.sandbox.seed({ users: [{ email: 'ada@example.test', balance: 1 }] })
const id: number | undefined = users[0]?.id
console.log(id)
import { client, type Payment } from 'farthing/client'
const payment: Payment = await client(service).payments.read(1)
const amount: number = payment.amount
console.log(amount)
// @ts-expect-error An email address is a text.
await service.sandbox.seed({ users: [{ email: 7 }] })
`

/** The elements of a seed are there by their places. */
const TESTING = `
import { farthingTest as playwrightTest } from 'farthing/playwright'
import { farthingTest } from 'farthing/vitest'
const test = farthingTest({ seed: { users: [{ email: 'ada@example.test' }] } })
test('pays', async ({ client, seeded, codeFor }) => {
  const id: number = seeded.users[0].id
  const code: string = await codeFor(seeded.users[0].email)
  console.log(id, code, await client.as(seeded.users[0]).payments.list())
  // @ts-expect-error The seed has one user.
  console.log(seeded.users[1])
})
playwrightTest({ seed: { users: [{ email: 'ada@example.test' }] } })('pays', async ({ page, farthing, seeded }) => {
  const id: number = seeded.users[0].id
  await page.goto(farthing.url + id)
})
// @ts-expect-error An email address is a text.
farthingTest({ seed: { users: [{ email: 7 }] } })
`
