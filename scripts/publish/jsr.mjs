// `npm run check:jsr`: writes what JSR gets to `dist/jsr`, and checks it as JSR does. It needs the build.
// `node scripts/publish/jsr.mjs --publish` publishes it, in GitHub Actions.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { npm } from '../setup.mjs'

const { values: options } = parseArgs({ options: { publish: { type: 'boolean', default: false } } })
const folder = 'dist/jsr'
const manifest = JSON.parse(readFileSync('package.json', 'utf8'))
const { version, license, exports } = manifest

/** The entry points that run outside of a page. @returns {Record<string, string>} */
const entryPoints = () =>
  Object.fromEntries(
    Object.entries(exports).flatMap(([subpath, { default: file }]) =>
      file?.startsWith('./dist/lib/') ? [[subpath, file.replace('./dist/', './')]] : [],
    ),
  )

/** Deno finds declarations only by the name of their file. Some belong to no module. @param {string} path @param {string} text */
const withDeclarations = (path, text) =>
  text.replace(/(?<=from |import\()"(\.[^"]+)\.js"/g, (specifier, name) =>
    existsSync(join(dirname(path), `${name}.js`)) ? specifier : `"${name}.d.ts"`,
  )

rmSync(folder, { recursive: true, force: true })
cpSync('dist/lib', join(folder, 'lib'), { recursive: true, filter: (path) => !path.endsWith('.map') })
for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md']) cpSync(name, join(folder, name))
for (const name of readdirSync(join(folder, 'lib'), { recursive: true, encoding: 'utf8' })) {
  const path = join(folder, 'lib', name)
  if (name.endsWith('.d.ts')) writeFileSync(path, withDeclarations(path, readFileSync(path, 'utf8')))
}
/** @param {string} name @param {object} content */
const write = (name, content) => writeFileSync(join(folder, name), `${JSON.stringify(content, null, 2)}\n`)
// It has no entry points for test runners. JSR knows no open ranges such as >=7, and no alternatives: what the tests run is one that works.
const { vitest, '@playwright/test': playwright, ...peerDependencies } = manifest.peerDependencies
const given = { '@types/node': '', ...peerDependencies }
const peers = Object.entries(given).map(([name, range]) => [
  name,
  /^\^\S+$/.test(range) ? range : manifest.devDependencies[name],
])
write('package.json', { type: 'module', dependencies: { ...manifest.dependencies, ...Object.fromEntries(peers) } })
// Without these lines Git's own list would leave all of it out.
const publish = { include: ['lib', 'README.md', 'LICENSE', 'CHANGELOG.md'], exclude: ['!lib', '!*.md', '!LICENSE'] }
write('jsr.json', {
  name: '@farthing/farthing',
  version,
  license,
  exports: entryPoints(),
  publish,
  nodeModulesDir: 'manual',
})

const [command, ...first] = npm()
const args = ['exec', '--yes', '--', 'deno@2', 'publish', ...(options.publish ? [] : ['--dry-run', '--allow-dirty'])]
const { status } = spawnSync(command, [...first, ...args], { cwd: folder, stdio: 'inherit' })
process.exitCode = status ?? 1
