import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { starterSeed } from '../../sandbox/commands/init.js'
import { recipes } from '../../sandbox/commands/recipes.js'
import { checkSeed, parseDocument } from '../../sandbox/refusal.js'
import { createService } from '../../src/index.js'
import { cli } from '../support/cli.js'
import { isWhole } from '../support/how-much.js'
import { runHere } from '../support/run-here.js'

const farthing = cli()
/** In this process: only that files of recipes are in what was built is about the command. */
const run = (args: readonly string[]) => runHere(args, farthing.directory)
const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
/** The example of a flag, if it has another name. */
const named: Record<string, string> = { '--vite-sw': 'offline-shop' }
const read = (path: string) => readFile(join(farthing.directory, path), 'utf8')

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name).slice(folder.length + 1)] : [],
  )
}

test.each(Object.keys(recipes))('init %s writes the files of its example, and says what comes next', async (flag) => {
  const isBuilt = isWhole || flag === Object.keys(recipes)[0]
  const { code, stdout, stderr } = await (isBuilt ? farthing.run : run)(['init', flag])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const example = join(examples, named[flag] ?? flag.slice(2))
  const written = await filesIn(farthing.directory)
  expect(written.length).toBeGreaterThan(3)
  expect(written).toContain('package.json')
  for (const path of written) {
    expect(await read(path), path).toBe(await readFile(join(example, path), 'utf8'))
    expect(stdout).toContain(`Wrote ${path}\n`)
  }
  expect(stdout).toMatch(/\nNext:\n {2}npm install\n[\s\S]* {2}npm test\n$/)
})

test('init leaves the package.json of a project alone, and says what its recipe needs besides', async () => {
  const own = '{ "scripts": { "test": "mine" }, "devDependencies": { "vitest": "^4.0.0" } }'
  await writeFile(join(farthing.directory, 'package.json'), own)
  const { code, stdout } = await run(['init', '--express'])
  expect(code).toBe(0)
  expect(await read('package.json')).toBe(own)
  expect(stdout).toMatch(/^ {2}npm install express@\S+ farthing@\S+$/m)
  expect(stdout).toMatch(/^ {2}npm install --save-dev @types\/express@\S+ .*typescript@\S+$/m)
  expect(stdout).not.toMatch(/vitest@|Wrote package\.json/)
  expect(stdout).toContain('  npm pkg set scripts.test="vitest run"\n')
  // Its files are modules, and `npm init` makes a project of another type.
  expect(stdout).toContain('\n  npm pkg set type=module\n')
})

test.each(['src/server.ts', 'test/paid-articles.test.ts'])('init writes nothing if there is a %s', async (path) => {
  await mkdir(join(farthing.directory, path, '..'), { recursive: true })
  await writeFile(join(farthing.directory, path), 'mine')
  expect(await run(['init', '--express'])).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `farthing: ${path} already exists; nothing has been written. Move it, or run this in another directory\n`,
  })
  expect(await filesIn(farthing.directory)).toEqual([path])
})

test('init writes nothing if it cannot read the package.json, or cannot make a folder', async () => {
  await writeFile(join(farthing.directory, 'package.json'), '{ "scripts": ')
  const refused = await run(['init', '--express'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(/^farthing: package\.json is not valid/) })
  expect(await filesIn(farthing.directory)).toEqual(['package.json'])
  await rm(join(farthing.directory, 'package.json'))
  await writeFile(join(farthing.directory, 'src'), 'a file')
  expect(await run(['init', '--express'])).toMatchObject({ code: 2, stderr: expect.stringMatching(/^farthing: .*src/) })
  expect(await filesIn(farthing.directory)).toEqual(['src'])
})

test('init takes one recipe, and names the nearest one for a misspelled flag', async () => {
  const [first = '', second = ''] = Object.keys(recipes)
  expect((await run(['init', first, second])).stderr).toBe(
    `farthing: ${first} and ${second} contradict each other: choose one recipe\n`,
  )
  expect((await run(['init', '--expres'])).stderr).toMatch(/unknown option '--expres'.*--express/)
  expect(await filesIn(farthing.directory)).toEqual([])
})

test("init writes a seed of one's own, which the sandbox starts with", async () => {
  expect(await run(['init'])).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('farthing.seed.yaml'),
  })
  const seed = await parseDocument('farthing.seed.yaml', await read('farthing.seed.yaml'))
  const { accounts, users, commodities } = checkSeed('farthing.seed.yaml', seed)
  expect(await read('farthing.config.json')).toContain('"seed": "farthing.seed.yaml"')
  const sandbox = await farthing.start()
  const [account = { name: '', client_id: '' }] = accounts ?? []
  expect(sandbox.accounts).toMatchObject([{ name: account.name, client_id: account.client_id }])
  expect(sandbox.users.map(({ email }) => email)).toEqual(users?.map(({ email }) => email))
  const answer = await fetch(`${sandbox.url}/v4/commodity/${commodities?.[0]?.hash}`)
  expect(answer.status).toBe(200)
  await sandbox.stop()
})

test('what the seed shows in comments is valid too', async () => {
  const text = starterSeed.replace(/^# (?=items:|faults:| {2})/gm, '')
  const seed = checkSeed('seed', await parseDocument('seed.yaml', text))
  expect([seed.items?.length, seed.faults?.length]).toEqual([1, 1])
  const service = createService({ sandbox: true, seed })
  await service.ready()
  await service.close()
})

test('init keeps a seed that is there', async () => {
  await writeFile(join(farthing.directory, 'farthing.seed.yaml'), 'users: []')
  expect((await run(['init'])).stdout).toMatch(/^Kept farthing\.seed\.yaml\n/)
  expect(await read('farthing.seed.yaml')).toBe('users: []')
})
