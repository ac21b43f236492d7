/**
 * A release, as its heading in CHANGELOG.md names it: `## 1.2.0 (2026-11-23)`, or `## 1.2.0 (not released yet)`.
 *
 * @typedef {{ readonly version: string, readonly isReleased: boolean, readonly text: string }} Release
 */

const heading = /^## (\d+\.\d+\.\d+(?:-[\w.]+)?)(?: \((.+)\))?$/

/** Returns the releases of a changelog, the newest first. @param {string} changelog @returns {readonly Release[]} */
export function readReleases(changelog) {
  return changelog
    .split(/^(?=## )/m)
    .slice(1)
    .flatMap((section) => {
      const [first = '', ...rest] = section.split('\n')
      const [, version, note] = heading.exec(first) ?? []
      return version === undefined
        ? []
        : [{ version, isReleased: note !== 'not released yet', text: rest.join('\n').trim() }]
    })
}

/** Returns what a changelog says about the release that is not out yet: nothing if there is none. @param {string} changelog */
export const unreleasedSection = (changelog) =>
  readReleases(changelog).find(({ isReleased }) => !isReleased)?.text ?? ''

/** Returns the changelog with a date in the heading of its newest release. @param {string} changelog @param {string} date */
export const withDate = (changelog, date) => changelog.replace(/^(## \S+) \(not released yet\)$/m, `$1 (${date})`)

/** Whether a version is later than another. @param {string} version @param {string} other */
export function isLater(version, other) {
  const [numbers, others] = [version, other].map((each) => (each.split('-')[0] ?? '').split('.').map(Number))
  const at = numbers.findIndex((number, place) => number !== others[place])
  if (at >= 0) return numbers[at] > others[at]
  // A version comes after its own previews: 1.2.0 after 1.2.0-beta.
  return other.includes('-') && (!version.includes('-') || version > other)
}
