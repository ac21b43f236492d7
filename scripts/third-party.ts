import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** What a plugin for Rolldown sees of a file that it writes. */
interface OutputFile {
  readonly type: 'chunk' | 'asset'
  readonly modules?: Readonly<Record<string, unknown>>
}

interface EmittedText {
  readonly type: 'asset'
  readonly fileName: string
  readonly source: string
}

/**
 * A plugin for Rolldown. It writes the licences of all packages of which a build holds modules into a file beside it, as
 * these licences want. Throws if a package does not say its licence.
 */
export function thirdPartyNotices(fileName = 'THIRD-PARTY.txt') {
  return {
    name: 'third-party-notices',
    generateBundle(
      this: { emitFile(file: EmittedText): string },
      _: unknown,
      bundle: Readonly<Record<string, OutputFile>>,
    ) {
      const modules = Object.values(bundle).flatMap((file) => Object.keys(file.modules ?? {}))
      const folders = new Set(modules.flatMap((id) => packageOf(id) ?? []))
      const notices = [...folders].map(noticeOf)
      const texts = [...new Map(notices.map((notice) => [notice.name, notice.text])).entries()].sort()
      if (texts.length === 0) return
      const source = [INTRO, ...texts.map(([, text]) => text)].join(`\n${'-'.repeat(80)}\n\n`)
      this.emitFile({ type: 'asset', fileName, source })
    },
  }
}

const INTRO = 'The files beside this one contain parts of these packages.\n'

/** The folder of the package that a module is from. Undefined for our own. */
function packageOf(id: string): string | undefined {
  const path = id.replace(/^\0/, '').replace(/\?.*$/, '')
  const at = path.replaceAll('\\', '/').lastIndexOf('/node_modules/')
  if (at < 0) return undefined
  const [scope = '', name = ''] = path.slice(at + '/node_modules/'.length).split(/[\\/]/)
  return join(path.slice(0, at), 'node_modules', scope, scope.startsWith('@') ? name : '')
}

function noticeOf(folder: string): { readonly name: string; readonly text: string } {
  const manifest = readFileSync(join(folder, 'package.json'), 'utf8')
  const { name, version, license, author } = JSON.parse(manifest)
  if (!license) throw new Error(`${name} does not say its licence. Look at ${dirname(folder)} before you bundle it.`)
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.(md|txt))?$/i.test(each))
  const by = typeof author === 'string' ? author : author?.name
  const said = file ? readFileSync(join(folder, file), 'utf8').trim() : `By ${by}. It comes without a text.`
  return { name: `${name}@${version}`, text: `${name} ${version}, ${license}\n\n${said}\n` }
}
