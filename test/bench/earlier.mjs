// Builds an earlier commit beside this one, so that both can be measured in the same run.
import { execFileSync, execSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** The commit to compare with while no release has a tag: the last one before requests became slower. */
const BEFORE_TAGS = 'b5b3e2d'

const git = (...args) =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()

/** The last release, or the commit to compare with before the first one. BENCH_COMMIT names another one. */
function earlierCommit() {
  const commit =
    process.env.BENCH_COMMIT ?? (git('tag', '--list', 'v*', '--sort=-version:refname').split('\n')[0] || BEFORE_TAGS)
  try {
    return git('rev-parse', '--short', `${commit}^{commit}`)
  } catch {
    throw new Error(
      `This clone does not have the commit ${commit}. Fetch the whole history: git fetch --unshallow --tags`,
    )
  }
}

/** Builds the earlier commit once, and keeps it in the folder for temporary files. Returns its name and its `server.mjs`. */
export function buildEarlier() {
  const commit = earlierCommit()
  const folder = join(tmpdir(), `farthing-bench-${commit}`)
  if (!existsSync(folder)) {
    const unfinished = `${folder}-${process.pid}`
    process.stderr.write(`building ${commit} in ${folder}\n`)
    mkdirSync(unfinished)
    try {
      execSync(`git archive ${commit} | tar -x -C '${unfinished}'`, { cwd: root })
      for (const args of [
        ['ci', '--no-audit', '--no-fund'],
        ['run', 'build'],
      ])
        execFileSync('npm', args, { cwd: unfinished, stdio: ['ignore', 'ignore', 'inherit'] })
      renameSync(unfinished, folder)
    } finally {
      rmSync(unfinished, { recursive: true, force: true })
    }
  }
  // The server of this commit, which can be asked what it used, in front of the service of that one.
  const server = join(folder, 'test', 'bench', 'server.mjs')
  copyFileSync(join(root, 'test', 'bench', 'server.mjs'), server)
  return { commit, server }
}
