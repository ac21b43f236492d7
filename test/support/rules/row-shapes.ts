import { posix } from 'node:path'
import type TS from 'typescript'
import { ts } from '../../../scripts/typescript.js'
import type { AnyCollection } from '../../../src/storage/storage.js'

/**
 * The shape of each collection by its name: the type of its rows, its indexes and its sealed fields. `file` is the module
 * with the list of features, whose `collections` are the same in the same order.
 */
export function rowShapes(file: string, collections: readonly AnyCollection[]): Record<string, string> {
  const program = programOf(file)
  const checker = program.getTypeChecker()
  const source = program.getSourceFile(file)
  const listed = source ? listedIn(source, checker) : []
  if (listed.length !== collections.length) throw new Error(`${file} lists ${listed.length} collections`)
  const shapes = collections.map(({ name, indexes, sealed }, at) => {
    const row = rowOf(listed[at], checker)
    const more = [indexes, ...(sealed ? [{ sealed }] : [])].map((part) => JSON.stringify(part))
    return [name, [textOf(row, checker), ...more].join(' ')] as const
  })
  return Object.fromEntries(shapes.sort(([a], [b]) => (a < b ? -1 : 1)))
}

/** Only the project's own modules and the language: rows are made of nothing else, and packages take seconds to read. */
function programOf(file: string): TS.Program {
  const options: TS.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts'],
    types: [],
    jsx: ts.JsxEmit.Preserve,
  }
  const host = ts.createCompilerHost(options)
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseNone
  const read = host.getSourceFile
  host.getSourceFile = (path, ...how) => {
    const source = languageFiles.get(path) ?? read(path, ...how)
    if (source && /\/lib\.[^/]*\.d\.ts$/.test(path)) languageFiles.set(path, source)
    return source
  }
  host.resolveModuleNameLiterals = (literals, from) =>
    literals.map((literal) => ({ resolvedModule: declaresRows(literal) ? resolved(literal.text, from) : undefined }))
  return ts.createProgram([file], options, host)
}

/** What describes the language is the same for each program. */
const languageFiles = new Map<string, TS.SourceFile>()

/** What a feature loads at its first call declares no rows: a row whose type comes from there has the type any. */
const declaresRows = ({ text, parent }: TS.StringLiteralLike): boolean =>
  text.startsWith('.') && !ts.isCallExpression(parent)

function resolved(specifier: string, from: string): TS.ResolvedModuleFull | undefined {
  const path = posix.join(posix.dirname(from), specifier)
  for (const [extension, written] of [
    [ts.Extension.Ts, path.replace(/\.js$/, '.ts')],
    [ts.Extension.Tsx, path.replace(/\.js$/, '.tsx')],
  ] as const)
    if (written !== path && ts.sys.fileExists(written)) return { resolvedFileName: written, extension }
  return undefined
}

/** What the features of the list name as their collections. */
function listedIn(source: TS.SourceFile, checker: TS.TypeChecker): TS.Expression[] {
  const found: TS.Expression[] = []
  const visit = (node: TS.Node): void => {
    if (ts.isArrayLiteralExpression(node))
      for (const element of node.elements) found.push(...collectionsOf(element, checker))
    else ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function collectionsOf(feature: TS.Expression, checker: TS.TypeChecker): readonly TS.Expression[] {
  const symbol = ts.isIdentifier(feature) ? checker.getSymbolAtLocation(feature) : undefined
  const isImported = symbol && symbol.flags & ts.SymbolFlags.Alias
  const declared = (isImported ? checker.getAliasedSymbol(symbol) : symbol)?.valueDeclaration
  const value = declared && ts.isVariableDeclaration(declared) ? declared.initializer : undefined
  if (!value || !ts.isObjectLiteralExpression(value)) return []
  return value.properties.flatMap((property) =>
    ts.isPropertyAssignment(property) &&
    property.name.getText() === 'collections' &&
    ts.isArrayLiteralExpression(property.initializer)
      ? [...property.initializer.elements]
      : [],
  )
}

/** The `R` of a `Collection<R, I>`. */
function rowOf(expression: TS.Expression | undefined, checker: TS.TypeChecker): TS.Type {
  const type = expression && checker.getTypeAtLocation(expression)
  const isReference = type?.symbol?.name === 'Collection'
  const [row] = isReference ? checker.getTypeArguments(type as TS.TypeReference) : []
  if (!row) throw new Error(`${expression?.getText()} is no Collection of rows`)
  return row
}

/** A type as one line: properties and members of unions in order, names of types resolved. */
function textOf(type: TS.Type, checker: TS.TypeChecker, within: readonly TS.Type[] = []): string {
  if (within.includes(type)) return `(again ${checker.typeToString(type)})`
  const inner = (part: TS.Type) => textOf(part, checker, [...within, type])
  if (type.flags & ts.TypeFlags.Any)
    throw new Error(`a row has the type any: ${within.map((each) => checker.typeToString(each)).join(', ')}`)
  if (type.flags & ts.TypeFlags.Boolean) return 'boolean'
  if (type.isUnion()) return unionOf(type.types.map(inner))
  if (checker.isTupleType(type))
    return `[${checker
      .getTypeArguments(type as TS.TypeReference)
      .map(inner)
      .join(', ')}]`
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type as TS.TypeReference).map(inner)
    return element?.includes(' | ') ? `(${element})[]` : `${element}[]`
  }
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return checker.typeToString(type)
  const properties = checker.getPropertiesOfType(type).map((property) => {
    const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0
    const shape = inner(checker.getTypeOfSymbol(property))
    return isOptional ? `${property.name}?: ${shape.replace(/ \| undefined$/, '')}` : `${property.name}: ${shape}`
  })
  const signatures = checker
    .getIndexInfosOfType(type)
    .map(({ keyType, type: value }) => `[${checker.typeToString(keyType)}]: ${inner(value)}`)
  return `{ ${[...properties.sort(), ...signatures].join('; ')} }`
}

/** `undefined` comes last, and the two booleans are one member. */
function unionOf(members: readonly string[]): string {
  const isBoolean = members.includes('true') && members.includes('false')
  const others = members.filter((member) => member !== 'undefined' && !(isBoolean && /^(true|false)$/.test(member)))
  const sorted = [...new Set(isBoolean ? [...others, 'boolean'] : others)].sort()
  return (members.includes('undefined') ? [...sorted, 'undefined'] : sorted).join(' | ')
}
