// `npm run check:api`: compares the public types in `dist` with the reports in `test/api`, one for each entry point.
// `npm run check:api -- --accept` writes the reports anew, once CHANGELOG.md announces what changed.
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { CompilerState, Extractor, ExtractorConfig } from '@microsoft/api-extractor'
import { unreleasedSection } from './changelog.mjs'

/**
 * Compares the types of the package in `root` with its reports. With `accept` it writes the reports anew, if the changelog
 * says something new. Returns what to tell, and whether the reports are those of the types.
 *
 * @param {string} root @param {{ readonly accept?: boolean }} options @returns {{ readonly isSame: boolean, readonly lines: readonly string[] }}
 */
export function compareApi(root, { accept = false }) {
  const entryPoints = findEntryPoints(root)
  const notBuilt = entryPoints.filter(({ types }) => !existsSync(types)).map(({ path }) => path)
  if (notBuilt.length > 0)
    return { isSame: false, lines: [`There is no ${notBuilt.join(', no ')}. Run npm run build first.`] }

  const folder = join(root, 'test/api')
  const reports = describeAll(root, entryPoints)
  const kept = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.api.md')) : []
  const changed = [...new Set([...reports.keys(), ...kept])].flatMap((name) => {
    const [before, now] = [readOr(join(folder, name)), reports.get(name) ?? '']
    const different = differences(before, now)
    return different.length === 0 ? [] : [{ name, now, lines: [`test/api/${name}:`, ...different] }]
  })
  if (changed.length === 0) return { isSame: true, lines: ['The public types are those of test/api.'] }
  const shown = changed.flatMap(({ lines }) => lines)
  if (!accept) return { isSame: false, lines: [...shown, '', ...howToAccept] }

  // What CHANGELOG.md said when the reports were last accepted.
  const announced = join(folder, 'announced.txt')
  const digest = createHash('sha256')
    .update(unreleasedSection(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')))
    .digest('hex')
  if (readOr(announced).trim() === digest) return { isSame: false, lines: [...shown, '', nothingNew] }
  mkdirSync(folder, { recursive: true })
  for (const { name, now } of changed) {
    if (now === '') rmSync(join(folder, name))
    else writeFileSync(join(folder, name), now)
  }
  writeFileSync(announced, `${digest}\n`)
  return { isSame: true, lines: [...shown, '', 'The reports in test/api are new. Commit them.'] }
}

const howToAccept = [
  'The public types have changed. If this is meant, say so in CHANGELOG.md, under the release that is not out yet.',
  'Then run npm run check:api -- --accept, and commit the reports.',
]
const nothingNew =
  'CHANGELOG.md says nothing new since the last change of the types. Add a line under the release that is not out yet.'

/** @typedef {{ readonly name: string, readonly path: string, readonly types: string }} EntryPoint */

/** @param {string} root @returns {readonly EntryPoint[]} */
function findEntryPoints(root) {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.entries(exports).flatMap(([subpath, { types }]) => {
    const name = subpath === '.' ? 'index' : subpath.slice(2).replaceAll('/', '-')
    return types === undefined ? [] : [{ name, path: types, types: join(root, types) }]
  })
}

/** Returns the report of each entry point: what its declarations say, in one order. @param {string} root @param {readonly EntryPoint[]} entryPoints */
function describeAll(root, entryPoints) {
  const scratch = mkdtempSync(join(tmpdir(), 'farthing-api-'))
  const configs = entryPoints.map((each) => configOf(root, each, scratch))
  const additionalEntryPoints = entryPoints.map(({ types }) => types)
  const compilerState = configs[0] && CompilerState.create(configs[0], { additionalEntryPoints })
  for (const config of configs)
    Extractor.invoke(config, {
      compilerState,
      localBuild: true,
      messageCallback: (message) => (message.handled = true),
    })
  const reports = entryPoints.map(({ name }) => {
    const file = `${name}.api.md`
    return /** @type {const} */ ([file, shorten(readFileSync(join(scratch, file), 'utf8'))])
  })
  rmSync(scratch, { recursive: true })
  return new Map(reports)
}

/** @param {string} root @param {EntryPoint} entryPoint @param {string} scratch */
function configOf(root, { name, types }, scratch) {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: [types] } },
      apiReport: {
        enabled: true,
        reportFolder: scratch,
        reportTempFolder: scratch,
        reportFileName: name,
        // The main entry point shows the types that it uses and does not name, such as the fields of options. The others use the same.
        includeForgottenExports: name === 'index',
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { compilerMessageReporting: silent, extractorMessageReporting: silent, tsdocMessageReporting: silent },
    },
  })
}

/** @param {string} report */
const shorten = (report) =>
  report
    .replace(/^ *\/\/ \(undocumented\)\n/gm, '')
    .replace(/ \(undocumented\)$/gm, '')
    .replace(/"[\w-]+"(?: \| "[\w-]+")+/g, inOrder)

/** The compiler writes the texts of a union in the order in which it met them. @param {string} union */
const inOrder = (union) => union.split(' | ').sort().join(' | ')

/** @type {Readonly<Record<string, { logLevel: any }>>} */
const silent = { default: { logLevel: 'none' } }
const compilerOptions = {
  strict: true,
  target: 'es2022',
  lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
  module: 'nodenext',
  moduleResolution: 'nodenext',
  types: ['node'],
  skipLibCheck: true,
}

/** Returns the lines that one text has and the other lacks, each with its sign, wherever they are: the order of members varies. @param {string} before @param {string} after */
function differences(before, after) {
  const [old, current] = [before, after].map((text) => text.split('\n'))
  const only = (/** @type {string[]} */ lines, /** @type {string[]} */ others) => {
    const left = new Map()
    for (const line of others) left.set(line, (left.get(line) ?? 0) + 1)
    return lines.filter((line) => {
      const count = left.get(line) ?? 0
      left.set(line, count - 1)
      return count <= 0
    })
  }
  return [...only(old, current).map((line) => `  - ${line}`), ...only(current, old).map((line) => `  + ${line}`)]
}

/** @param {string} path */
const readOr = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '')

if (process.argv[1] && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { accept: { type: 'boolean', default: false } } })
  const { isSame, lines } = compareApi(process.cwd(), values)
  for (const line of lines) process.stderr.write(`${line}\n`)
  process.exitCode = isSame ? 0 : 1
}
