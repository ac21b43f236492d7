import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { exists } from '../../../adapters/storage/file/disk.js'
import { configFiles } from '../../config.js'
import { Refusal, refuseFile } from '../../refusal.js'
import { printLine } from '../../terminal.js'

const [fileName] = configFiles

/** Writes a first config file. Throws `Refusal` if there is one. */
export async function writeConfig(directory: string): Promise<void> {
  for (const name of configFiles)
    if (await exists(join(directory, name))) throw new Refusal(`${name} already exists; it has not been changed`)
  const given = { port: 4242, host: '127.0.0.1', data: '.farthing/data.json', seed: 'demo' }
  await writeFile(join(directory, fileName), `${JSON.stringify(given, null, 2)}\n`, { flag: 'wx' }).catch((error) =>
    refuseFile('write', fileName, error),
  )
  printLine(`Wrote ${fileName}. \`farthing\` reads it when it starts.`)
}
