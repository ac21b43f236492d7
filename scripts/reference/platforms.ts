import { type Platform, type PlatformGroup, platforms } from '../platforms.js'
import { page, prose, table } from './markdown.js'

const kinds: Readonly<Record<PlatformGroup, string>> = {
  runtimes: 'runtime',
  servers: 'web framework',
  bundlers: 'bundler',
  packageManagers: 'package manager',
  testRunners: 'test runner',
  mocks: 'network mock',
  compilers: 'types',
  browsers: 'browser',
  databases: 'database',
}

/** What the tests of `test/package/` run. */
export const platformsPage = (): string =>
  page(
    '# Where it runs',
    'A test runs each version in this table with the package as npm would publish it. It creates an account and a reader, funds the reader, pays, and validates the payment, which works once. Then it ends the process. For types, it compiles everything that the package exports.',
    ...table(
      ['kind', 'name', 'versions', 'what you need to know'],
      Object.entries(platforms).flatMap(([group, named]) =>
        Object.values<Platform>(named).map(({ name, versions, note = '' }) => [
          kinds[group as PlatformGroup], // Its keys.
          name,
          versions.join(', '),
          prose(note),
        ]),
      ),
    ),
    'Other versions may work. `npm run test:all` in a clone of the project runs these tests, and says which versions ran and which did not.',
  )
