// Loaded by `--import` into a process that is measured: writes what it used to the file in BENCH_USAGE.
import { writeFileSync } from 'node:fs'

process.on('exit', () => {
  const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage()
  const usage = { peakMb: maxRSS / 1000, cpuSeconds: (userCPUTime + systemCPUTime) / 1e6 }
  writeFileSync(process.env.BENCH_USAGE, JSON.stringify(usage))
})
