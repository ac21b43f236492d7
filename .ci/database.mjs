// `node .ci/database.mjs`: whether the PostgreSQL of the tests starts here. Without it they are skipped, and a run is green.
import { fork } from 'node:child_process'
import { once } from 'node:events'

const child = fork('test/support/storage/postgres-process.mjs', { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
child.send('start')
const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit').then(() => [{ failed: 'It ended.' }])])
if (child.connected) child.disconnect()
if ('failed' in answer) process.stderr.write(`${answer.failed}\n`)
process.exitCode = 'failed' in answer ? 1 : 0
