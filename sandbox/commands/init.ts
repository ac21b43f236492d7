import { lstat, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod/mini'
import { exists } from '../../adapters/storage/file/disk.js'
import { configFiles } from '../config.js'
import { Refusal, readOptionalText, refuseFile } from '../refusal.js'
import { printLines } from '../terminal.js'
import type { Recipe } from './recipes.js'

/** A project has these already, and they are its own. */
const kept = ['package.json', 'tsconfig.json']

const Manifest = z.object({
  type: z.optional(z.string()),
  scripts: z.optional(z.record(z.string(), z.string())),
  dependencies: z.optional(z.record(z.string(), z.string())),
  devDependencies: z.optional(z.record(z.string(), z.string())),
})

type Manifest = z.output<typeof Manifest>

/**
 * Writes the files of a recipe into a directory, and prints which commands come next. It keeps the directory's own
 * `package.json` and `tsconfig.json`. Throws `Refusal` if another file of the recipe exists, and then writes nothing.
 */
export async function writeRecipe(recipe: Recipe, directory: string): Promise<void> {
  const { default: files } = await recipe.files()
  const own = await readManifest(directory)
  const found: string[] = []
  for (const path of Object.keys(files)) if (await isTaken(join(directory, path))) found.push(path)
  const [taken] = found.filter((path) => !kept.includes(path))
  if (taken !== undefined)
    throw new Refusal(`${taken} already exists; nothing has been written. Move it, or run this in another directory`)
  const written = Object.entries(files).filter(([path]) => !found.includes(path))
  const folders = new Set(written.map(([path]) => dirname(path)))
  for (const folder of folders)
    await mkdir(join(directory, folder), { recursive: true }).catch((error) => refuseFile('write', folder, error))
  for (const [path, text] of written)
    await writeFile(join(directory, path), text, { flag: 'wx' }).catch((error) => refuseFile('write', path, error))
  const given = Manifest.parse(JSON.parse(files['package.json'] ?? '{}'))
  printLines([...written.map(([path]) => `Wrote ${path}`), '', ...nextCommands(given, own)])
}

/** Whether something has this name, even a symbolic link to nothing. */
const isTaken = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )

async function readManifest(directory: string): Promise<Manifest | undefined> {
  const text = await readOptionalText(join(directory, 'package.json'), 'package.json')
  if (text === undefined) return undefined
  try {
    return Manifest.parse(JSON.parse(text))
  } catch (cause) {
    throw new Refusal('package.json is not valid; nothing has been written. Correct it first', { cause })
  }
}

function nextCommands(given: Manifest, own: Manifest | undefined): string[] {
  if (!own) return ['Next:', '  npm install', ...Object.keys(given.scripts ?? {}).map(commandOf)]
  const has = { ...own.dependencies, ...own.devDependencies }
  const missing = (packages: Manifest['dependencies'] = {}) =>
    Object.entries(packages).flatMap(([name, range]) => (name in has ? [] : [`${name}@${range}`]))
  const [needed, neededByTests] = [missing(given.dependencies), missing(given.devDependencies)]
  return [
    'Next:',
    ...(given.type === own.type || given.type === undefined ? [] : [`  npm pkg set type=${given.type}`]),
    ...(needed.length > 0 ? [`  npm install ${needed.join(' ')}`] : []),
    ...(neededByTests.length > 0 ? [`  npm install --save-dev ${neededByTests.join(' ')}`] : []),
    'Your package.json is as it was. The files need these scripts:',
    ...Object.entries(given.scripts ?? {}).map(([name, command]) => `  npm pkg set scripts.${name}="${command}"`),
  ]
}

const commandOf = (script: string) => (['test', 'start'].includes(script) ? `  npm ${script}` : `  npm run ${script}`)
const [configName] = configFiles
const SEED_NAME = 'farthing.seed.yaml'

/** Writes a config file, and beside it a seed that the project changes to what it needs. Throws `Refusal`. */
export async function writeConfig(directory: string): Promise<void> {
  for (const name of configFiles)
    if (await exists(join(directory, name))) throw new Refusal(`${name} already exists; it has not been changed`)
  const given = { port: 4242, host: '127.0.0.1', data: '.farthing/data.json', seed: SEED_NAME }
  const hasSeed = await isTaken(join(directory, SEED_NAME))
  if (!hasSeed) await writeNew(directory, SEED_NAME, starterSeed)
  await writeNew(directory, configName, `${JSON.stringify(given, null, 2)}\n`)
  printLines([
    hasSeed
      ? `Kept ${SEED_NAME}`
      : `Wrote ${SEED_NAME}: what an empty sandbox starts with. Change it to what you sell.`,
    `Wrote ${configName}. \`farthing\` reads it when it starts.`,
  ])
}

const writeNew = (directory: string, name: string, text: string): Promise<void> =>
  writeFile(join(directory, name), text, { flag: 'wx' }).catch((error) => refuseFile('write', name, error))

/** The seed that `farthing init` writes. YAML, because JSON has no comments. */
export const starterSeed = `# What an empty sandbox starts with. After a change: farthing reset, or farthing --fresh.

# Who sells. With fixed credentials, a .env file stays right after a reset.
accounts:
  - name: My shop
    client_id: mid_00000000000000000000000000005409
    client_secret: mc_00000000000000000000000000005409
    public_secret: mp_00000000000000000000000000005409

# Who pays, and what they have. An address with +code123456 always gets that sign-in code.
users:
  - email: ada+code123456@example.test
    balance: 20
  - email: grace@example.test # cannot pay: good for testing what your page says then
    balance: 0

# What is sold. Your server names the hash when it asks for a payment.
commodities:
  - account: My shop
    descriptor: NEWS.ARTICLE
    cost: 0.25
    hash: 00000000-0000-4000-8000-000000005409

# What people and agents find in the catalog. The endpoint delivers it: yours.
# items:
#   - account: My shop
#     name: Weather report
#     price: 0.05
#     external_endpoint: http://127.0.0.1:3000/weather
#     service_method: GET
#     service_schema: { type: object }

# What fails on purpose, again after each reset.
# faults:
#   - match: { operation_id: createPayment }
#     at: before
#     do: { status: 503 }
#     every: 3
`
