// An import of a binder with 100,000 rows by the command line, beside an import of nothing and an opening of the result.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROWS = 100_000
const TWINS = ['a.twin.localhost', 'b.twin.localhost']
const HEADER = 'timestamp,fileAction,fileIdentity,fileType,amount,fromAddress,destinationAddress'
const command = fileURLToPath(new URL('../../dist/cli/farthing.js', import.meta.url))
const watcher = new URL('usage-at-exit.mjs', import.meta.url).href

const hash = (kind, n) => `41${kind}${n.toString(16).padStart(12, '0')}`.padEnd(66, '0')

function row(n) {
  const [from, to] = n % 3 ? [hash('b', n % 50), ''] : ['', hash('c', n % 50)]
  const cells = [n % 3 ? 'receive' : 'send', hash('e', n), hash('d', 1), ((n % 1000) + 1) / 1000, from, to]
  return [new Date(1_700_000_000_000 - n * 1000).toISOString(), ...cells].join(',')
}

export async function binderFigures() {
  const cwd = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  const usage = join(cwd, 'usage.json')
  const farthing = (...args) => {
    const began = performance.now()
    const env = { ...process.env, BENCH_USAGE: usage, NODE_OPTIONS: `--import=${watcher}` }
    const { status, stderr } = spawnSync(process.execPath, [command, ...args], { cwd, env, encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return { ...JSON.parse(readFileSync(usage, 'utf8')), seconds: (performance.now() - began) / 1000 }
  }
  const importing = (file, twin) => farthing('import', '--binder', file, '--twin', twin, '--json')
  try {
    const seed = { accounts: TWINS.map((hostname) => ({ name: hostname, hostname })) }
    writeFileSync(join(cwd, 'farthing.config.json'), JSON.stringify({ seed }))
    writeFileSync(join(cwd, 'empty.csv'), `${HEADER}\n`)
    writeFileSync(join(cwd, 'binder.csv'), [HEADER, ...Array.from({ length: ROWS }, (_, n) => row(n)), ''].join('\n'))
    farthing('exec', '--data', '.farthing/data.json', '--', process.execPath, '-e', '')
    const nothing = importing('empty.csv', TWINS[1])
    const all = importing('binder.csv', TWINS[0])
    const opened = importing('empty.csv', TWINS[1])
    const detail =
      `${ROWS} rows in ${all.seconds.toFixed(1)} s (${all.cpuSeconds.toFixed(1)} s of processor time), at most ` +
      `${all.peakMb.toFixed(0)} MB; nothing: ${nothing.peakMb.toFixed(0)} MB; the result, opened: ${opened.peakMb.toFixed(0)} MB`
    return [{ name: 'memory of a binder import', ratio: all.peakMb / opened.peakMb, target: '1.5 or less', detail }]
  } finally {
    rmSync(cwd, { recursive: true })
  }
}
