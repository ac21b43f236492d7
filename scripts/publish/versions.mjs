import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'

/** @typedef {{ version: string, packages?: Record<string, { version: string }> }} Manifest */
/** @typedef {{ path: string, read(text: string): string | undefined, write(text: string, version: string): string }} Carrier */

/** @param {string} path @returns {Carrier} */
const manifest = (path) => ({
  path,
  read: (text) => JSON.parse(text).version,
  write(text, version) {
    /** @type {Manifest} */
    const { packages, ...rest } = JSON.parse(text)
    const own = packages?.['']
    const changed = {
      ...rest,
      version,
      ...(packages && { packages: { ...packages, ...(own && { '': { ...own, version } }) } }),
    }
    return `${JSON.stringify(changed, null, 2)}\n`
  },
})

const constant = /(?<=VERSION = ')[^']+/
const dependency = /(?<="farthing": "\^)[^"]+/
/** Every example installs the release that it came with. @returns {readonly Carrier[]} */
const examples = () =>
  (existsSync('examples') ? readdirSync('examples') : []).map((name) => ({
    path: `examples/${name}/package.json`,
    read: (text) => dependency.exec(text)?.[0],
    write: (text, version) => text.replace(dependency, version),
  }))

/** The files that name the version of the package, if they exist. CHANGELOG.md decides it. @returns {readonly Carrier[]} */
const findCarriers = () =>
  [
    manifest('package.json'),
    manifest('package-lock.json'),
    {
      path: 'src/base/version.ts',
      read: (/** @type {string} */ text) => constant.exec(text)?.[0],
      write: (/** @type {string} */ text, /** @type {string} */ version) => text.replace(constant, version),
    },
    ...examples(),
  ].filter(({ path }) => existsSync(path))

/** Returns the version that each file names. */
export const readVersions = () =>
  findCarriers().map(({ path, read }) => ({ path, version: read(readFileSync(path, 'utf8')) }))

/** Writes a version into every file that names one. @param {string} version */
export function writeVersions(version) {
  for (const { path, write } of findCarriers()) writeFileSync(path, write(readFileSync(path, 'utf8'), version))
}
