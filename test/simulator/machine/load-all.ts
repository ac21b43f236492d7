import { readdirSync } from 'node:fs'

/**
 * Loads every module of the service. Otherwise it loads some with the first request to them, which takes time that no
 * simulation sees.
 */
export async function loadAll(): Promise<void> {
  const folder = new URL('../../../src/', import.meta.url).pathname
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const file of files.sort())
    if (/(?<!\.client|\.d)\.tsx?$/.test(file) && !file.includes('browser/')) await import(`${folder}${file}`)
}
