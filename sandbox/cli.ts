#!/usr/bin/env node
import { runProgram } from './program.js'
import { tell } from './tell.js'

// Whoever reads the output may have read enough.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

await runProgram(process.argv.slice(2)).catch((error: unknown) => {
  tell(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exit(1)
})
// Whoever waited for a sandbox that could not start may hold its connection open.
if (process.exitCode === 2) process.exit()
