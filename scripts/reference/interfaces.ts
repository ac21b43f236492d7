import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type TS from 'typescript'
import { ts } from '../typescript.js'
import { code, prose, table } from './markdown.js'

/** A member of an interface, with its docstring. */
export interface Member {
  readonly name: string
  readonly type: string
  readonly isOptional: boolean
  readonly text: string
}

/** Reads the members of an interface from a source file, in their order. Throws if there is no such interface. */
export function membersOf(path: string, name: string, root = process.cwd()): Member[] {
  const source = ts.createSourceFile(path, readFileSync(join(root, path), 'utf8'), ts.ScriptTarget.Latest, true)
  const found = source.statements.find(
    (statement): statement is TS.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  )
  if (found === undefined) throw new Error(`${path} has no interface ${name}`)
  return found.members.flatMap((member) => memberOf(member, source))
}

function memberOf(member: TS.TypeElement, source: TS.SourceFile): Member[] {
  if (!ts.isPropertySignature(member) && !ts.isMethodSignature(member)) return []
  const name = member.name.getText(source)
  const type = ts.isMethodSignature(member)
    ? `(${member.parameters.map((each) => each.getText(source)).join(', ')}) => ${member.type?.getText(source)}`
    : (member.type?.getText(source) ?? 'unknown')
  const comment = ts.getJSDocCommentsAndTags(member).map(({ comment: text }) => ts.getTextOfJSDocComment(text) ?? '')
  return [
    { name, type: oneLine(type), isOptional: member.questionToken !== undefined, text: oneLine(comment.join(' ')) },
  ]
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** A table of members: options and the like. */
export const memberTable = (head: string, members: readonly Member[]): string[] =>
  table(
    [head, 'type', 'what it does'],
    members.map(({ name, type, text }) => [code(name), code(type), prose(text)]),
  )
