// From `npm start` to the first answer, beside a bare node:http server that is started by `npm start` too.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from './figures.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))

const BARE = `require('node:http').createServer((req, res) => {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.end('{"ok":true}')
}).listen(Number(process.argv[2]), '127.0.0.1')`

const answered = (port, path) =>
  new Promise((resolve) => {
    const asking = request({ host: '127.0.0.1', port, path, agent: false }, (res) => {
      res.resume()
      res.once('end', () => resolve(true))
    })
    asking.once('error', () => resolve(false))
    asking.end()
  })

async function timed({ cwd, args, port, path, env = {} }) {
  const began = performance.now()
  const child = spawn('npm', ['start', '--silent', '--', ...args], {
    cwd,
    stdio: 'ignore',
    detached: true,
    env: { ...process.env, ...env },
  })
  try {
    while (!(await answered(port, path))) {
      if (child.exitCode !== null) throw new Error(`npm start in ${cwd} ended with ${child.exitCode}`)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    return performance.now() - began
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    process.kill(-child.pid, 'SIGTERM')
    await ended
    // npm may end before the server that it started, which would answer for the next one.
    while (await answered(port, path)) await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

export async function startFigures({ rounds }) {
  const folder = mkdtempSync(join(tmpdir(), 'farthing-bench-'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, scripts: { start: 'node bare.cjs' } }))
  writeFileSync(join(folder, 'bare.cjs'), BARE)
  const port = 40_000 + (process.pid % 20_000)
  const bare = { cwd: folder, args: [String(port)], port, path: '/' }
  const file = join(folder, 'data.json')
  const own = { cwd: root, args: ['--port', String(port), '--data', file], port, path: '/v4/dq' }
  try {
    for (const each of [bare, own]) await timed(each)
    const figures = []
    for (let round = 0; round < rounds * 3; round++) figures.push({ bare: await timed(bare), own: await timed(own) })
    const of = (key) => median(figures.map((figure) => figure[key]))
    const ratio = median(figures.map(({ own, bare }) => own / bare))
    const detail = `${of('own').toFixed(0)} ms beside ${of('bare').toFixed(0)} ms`
    return [{ name: 'npm start to the first answer / bare node:http', ratio, target: '<= 2.5', detail }]
  } finally {
    rmSync(folder, { recursive: true })
  }
}
