import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands, flagsOf } from '../../scripts/reference/command-line.js'
import { controlGroups } from '../../scripts/reference/controls.js'
import { document } from '../../scripts/reference/document.js'
import { optionGroups } from '../../scripts/reference/options.js'
import { routeList } from '../../scripts/route-table.js'
import { problemCodes } from '../../src/base/problem.js'
import { evidenceOf } from '../../src/http/route.js'
import { eventTypes } from '../../src/jobs/events/event-types.js'
import { options, optionsOf } from '../../src/options.js'
import { anchorsOf, withoutBlocks } from '../support/docs/anchors.js'
import { pages, readPage, root } from '../support/docs/markdown.js'
import { reference } from '../support/docs/reference.js'

const made = reference()
const textOf = (path: string): string => made.get(path) ?? ''
/** Every page that a reader may open, by its path in the project. */
const all = new Map([
  ...['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...pages].map((page) => [page, readPage(page)] as const),
  ...[...made].map(([path, text]) => [`docs/reference/${path}`, text] as const),
])
const anchors = new Map([...all].map(([page, text]) => [page, anchorsOf(text)]))

/** The cells of a row of a table, by the code in its first cell. */
function cellsOf(text: string, name: string): string[] {
  const row = text.split('\n').find((line) => line.startsWith(`| \`${name}\` |`))
  return row?.split(/(?<!\\)\|/).map((cell) => cell.trim()) ?? []
}
const isSentence = (text: string | undefined): boolean => text !== undefined && text.split(' ').length >= 3

describe('The documentation has', () => {
  it('every operation, with each of its paths, what it does, and who may call it', () => {
    const documented = [...made].filter(([path]) => path.startsWith('operations/')).map(([, text]) => text)
    const missing = routeList.filter(({ id, path, method, versions, summary }) => {
      const part = documented.map((text) => text.split(`\n## ${id}\n`)[1]?.split('\n## ')[0]).find(Boolean) ?? ''
      const places = (versions ?? ['']).map((version) => `/${version}${path}`.replace('//', '/'))
      const shown = places.map((place) => `\`${method} ${place.replace(/:(\w+)/g, '{$1}')}\``)
      return ![...shown, summary.replaceAll('<', '&lt;'), '**Credentials:**'].every((text) => part.includes(text))
    })
    expect(missing.map(({ id }) => id)).toEqual([])
    expect(documented.join('').match(/^## (?!Shapes)/gm)).toHaveLength(routeList.length)
    const ids = Object.values(document.paths).flatMap((path) => Object.values(path).map((each) => each.operationId))
    expect(
      ids.filter((id) => !documented.some((text) => new RegExp(`^## ${id}$|as \`${id}\`$`, 'm').test(text))),
    ).toEqual([])
  })

  it('every option of every function, with a sentence of its own', () => {
    const groups = new Map(optionGroups().map(({ title, options: own }) => [title, own]))
    const parts = Object.entries(optionsOf).flatMap(([called, own]) =>
      called === 'handle' ? [] : Object.keys(own).map((name) => ({ called, name })),
    )
    const limits = Object.keys(options.limits.schema.shape).map((name) => ({ called: 'limits', name }))
    const missing = [...parts, ...limits].filter(
      ({ called, name }) => !isSentence(groups.get(called)?.find((option) => option.name === name)?.text),
    )
    expect(missing).toEqual([])
    const unclear = [...groups].flatMap(([title, own]) =>
      own.filter(({ text }) => !isSentence(text)).map(({ name }) => `${title}.${name}`),
    )
    expect(unclear).toEqual([])
    for (const [title] of groups) expect(textOf('options.md')).toContain(`\n## ${title}\n`)
  })

  it('every control of a sandbox, with a sentence of its own', () => {
    const unclear = controlGroups().flatMap(({ title, members }) =>
      members.filter(({ text }) => !isSentence(text)).map(({ name }) => `${title}.${name}`),
    )
    expect(unclear).toEqual([])
    const overHttp = routeList.filter(({ scope }) => scope === 'sandbox')
    expect(overHttp.filter(({ id }) => !textOf('controls.md').includes(`[\`${id}\`]`))).toEqual([])
  })

  it('every command and flag, with a sentence of its own', () => {
    const text = textOf('command-line.md')
    const missing = commands().flatMap((command) => {
      const part = text.split(`\n## farthing ${command.name()}\n`)[1]?.split('\n## ')[0] ?? ''
      const unclear = flagsOf(command).filter(({ flags }) => !isSentence(cellsOf(part, flags)[2]))
      return part.includes(command.description()) ? unclear.map(({ flags }) => flags) : [command.name()]
    })
    expect(missing).toEqual([])
  })

  it('every type of event, with a sentence of its own', () => {
    expect(Object.keys(eventTypes).filter((type) => !isSentence(cellsOf(textOf('events.md'), type)[2]))).toEqual([])
  })

  it('every error code, under an anchor of its name', () => {
    const found = anchors.get('docs/reference/errors.md')
    expect(problemCodes.filter((code) => !found?.has(code))).toEqual([])
  })

  it('everything that we designed ourselves', () => {
    const designed = routeList.filter((route) =>
      (route.versions ?? [undefined]).every((version) => evidenceOf(route, version) === 'designed'),
    )
    expect(designed.length).toBeGreaterThan(10)
    expect(designed.filter(({ id }) => !textOf('designed.md').includes(`[\`${id}\`]`)).map(({ id }) => id)).toEqual([])
  })
})

describe.each([...all])('%s', (page, text) => {
  it('links only to pages and anchors that exist', () => {
    const links = [...withoutBlocks(text).matchAll(/\]\((?!https?:|mailto:)([^)\s]*)\)/g)].map(([, link = '']) => link)
    const dead = links.filter((link) => {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : path.startsWith('/') ? join('docs', path) : join(page, '..', path)
      if (!all.has(target) && !(existsSync(join(root, target)) && statSync(join(root, target)).isFile())) return true
      return anchor !== undefined && anchors.get(target)?.has(anchor) === false
    })
    expect(dead).toEqual([])
  })
})
