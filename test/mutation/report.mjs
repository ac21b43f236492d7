import { existsSync, readFileSync } from 'node:fs'

/**
 * @typedef {{ id: string, status: string, mutatorName: string, replacement?: string, location: { start: Place, end: Place } }} Mutant
 * @typedef {{ line: number, column: number }} Place
 * @typedef {{ name: string, killed: number, survived: number, ignored: number, score: number }} Score
 */

/** The report of a feature's last run, or nothing. @param {string} feature @returns {Record<string, { source: string, mutants: Mutant[] }>} */
function filesOf(feature) {
  const path = `.mutation/${feature}/report.json`
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).files : {}
}

/** Which part of the mutants the last run of a feature chose. Undefined if it ran all. @param {string} feature @returns {{ share: number, random: number } | undefined} */
export function sampleOf(feature) {
  const path = `.mutation/${feature}/sample.json`
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined
}

/** How many mutants were killed and how many survived, for each group and each of its features that has been run. @param {readonly string[]} features @returns {Score[]} */
export function scoresOf(features) {
  const groups = [...new Set(features.map((feature) => feature.split('/')[0] ?? ''))]
  return groups.flatMap((group) => {
    const parts = features
      .filter((feature) => feature.startsWith(`${group}/`))
      .map((feature) => ({ feature, mutants: Object.values(filesOf(feature)).flatMap(({ mutants }) => mutants) }))
      .filter(({ mutants }) => mutants.length > 0)
    if (parts.length === 0) return []
    return [
      scoreOf(
        group,
        parts.flatMap(({ mutants }) => mutants),
      ),
      ...parts.map(({ feature, mutants }) => scoreOf(feature, mutants)),
    ]
  })
}

/** @param {string} name @param {readonly Mutant[]} mutants @returns {Score} */
function scoreOf(name, mutants) {
  const count = (/** @type {string[]} */ ...statuses) =>
    mutants.filter(({ status }) => statuses.includes(status)).length
  const killed = count('Killed', 'Timeout')
  const survived = count('Survived', 'NoCoverage')
  const score = Math.round((1000 * killed) / Math.max(1, killed + survived)) / 10
  return { name, killed, survived, ignored: count('Ignored'), score }
}

/** One line for each mutant that no test noticed. @param {string} feature @returns {string[]} */
export function survivorsOf(feature) {
  return Object.entries(filesOf(feature)).flatMap(([path, { source, mutants }]) => {
    const lines = source.split('\n')
    return mutants
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .sort((a, b) => a.location.start.line - b.location.start.line)
      .map(({ status, location: { start, end }, replacement = '' }) => {
        const last = start.line === end.line ? end.column - 1 : undefined
        const original = lines[start.line - 1]?.slice(start.column - 1, last).trim()
        const mark = status === 'NoCoverage' ? ' (no test)' : ''
        return `${path}:${start.line}${mark}: ${original} => ${replacement.replace(/\s+/g, ' ')}`
      })
  })
}
