import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { type Platform, platforms } from '../../scripts/platforms.js'
import { reference } from '../support/docs/reference.js'

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')

const sources = readdirSync(new URL('../package', import.meta.url))
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => read(`test/package/${name}`))

describe('The table of where it runs', () => {
  const rows = (reference().get('where-it-runs.md') ?? '').split('\n').filter((line) => line.startsWith('| '))

  it.each(Object.keys(platforms))('has %s that one file runs', (group) => {
    const runs = sources.filter(
      (text) => text.includes(`platformTests('${group}', `) || text.includes(`platformTests(\n  '${group}',`),
    )
    const compiles = sources.filter((text) => text.includes(`platforms.${group}.typescript.versions`))
    expect(runs.length + compiles.length).toBe(1)
  })

  it('names each version that a test runs, and no other', () => {
    const run = Object.values(platforms).flatMap((group) =>
      Object.values<Platform>(group).map(({ name, versions }) => `| ${name} | ${versions.join(', ')} |`),
    )
    expect(rows.slice(1).map((row) => `|${row.split('|').slice(2, 4).join('|')}|`)).toEqual(run)
  })

  it('has what the package says it needs', () => {
    const { engines, peerDependencies } = JSON.parse(read('package.json'))
    const [oldest] = platforms.runtimes.node.versions
    expect(engines.node).toMatch(new RegExp(String.raw`^>=${oldest}\.`))
    const majors = [...peerDependencies.vitest.matchAll(/\^(\d+)/g)].map(([, major]) => major)
    expect(platforms.testRunners.vitest.versions).toEqual(majors)
    const { versions } = platforms.mocks.msw
    const oldestOf = (major: string) => versions.find((version) => version.startsWith(`${major}.`))
    expect(peerDependencies.msw).toBe(`^${oldestOf('2')}.0 || ^${oldestOf('3')}.0`)
  })
})
