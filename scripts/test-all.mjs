import { parseCLI, startVitest } from 'vitest/node'

// `npm run test:all`: every runtime runs the whole contract, not only a part of it. Clients run that need tools
// of other languages, or packages that the lock file does not name.
process.env.FARTHING_TEST_ALL = '1'
const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const vitest = await startVitest('test', filter, { ...options, watch: false })
for (const module of vitest.state.getTestModules())
  for (const test of module.children.allTests('skipped')) {
    const { note } = test.result()
    if (note?.startsWith('not run: ')) process.stdout.write(`${note} (${test.fullName})\n`)
  }
// Which version of each platform was there, as its test found.
for (const module of vitest.state.getTestModules())
  for (const test of module.children.allTests('passed'))
    for (const { message } of test.annotations())
      if (message.startsWith('ran with: ')) process.stdout.write(`${message}\n`)
await vitest.close()
