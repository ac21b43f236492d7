import { readdirSync } from 'node:fs'

// Features load with the first request to them. What a module evaluates as it loads would then count as covered by whichever
// test comes first, and its mutants could never take effect in a thread that has loaded the module before.
for (const group of ['jobs', 'storage', 'money', 'payments', 'identity', 'consent', 'sandbox', 'composition']) {
  const folder = new URL(`../../src/${group}/`, import.meta.url).pathname
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const file of files) if (/(?<!\.client)\.tsx?$/.test(file)) await import(`${folder}${file}`)
}
