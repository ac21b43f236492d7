#!/usr/bin/env node
import { runProgram } from './program.js'
import { printFailure, surviveLostOutput } from './terminal.js'

surviveLostOutput()

await runProgram(process.argv.slice(2)).catch((error: unknown) => {
  printFailure(error)
  process.exit(1)
})
// A client may still hold a connection to a sandbox that could not start.
if (process.exitCode === 2) process.exit()
