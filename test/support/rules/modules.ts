import { posix } from 'node:path'
import type TS from 'typescript'
import { ts } from '../../../scripts/typescript.js'

/** One import, export from, `import()` or `require()`. */
export interface Import {
  readonly line: number
  /** As written; undefined for an `import()` of something computed. */
  readonly specifier: string | undefined
  /** The path of the module within the project, for a relative specifier. */
  readonly path: string | undefined
  /** The name of the package, or `node:fs`. */
  readonly package: string | undefined
  /** Erased when compiled. */
  readonly typeOnly: boolean
  readonly dynamic: boolean
}

/** A use of a global for time, randomness or the network. */
export interface GlobalUse {
  readonly line: number
  readonly name: 'Date' | 'Math.random' | 'fetch' | 'performance' | 'crypto'
}

export interface Module {
  readonly path: string
  readonly imports: readonly Import[]
  readonly globals: readonly GlobalUse[]
}

/** Reads modules from their texts by path, as TypeScript does. */
export function readModules(texts: ReadonlyMap<string, string>): Module[] {
  // The checker takes seconds for the whole project: a module without such a name neither uses nor declares one.
  const program = programOf(new Map([...texts].filter(([, text]) => namesGlobal.test(text))))
  const checker = program.getTypeChecker()
  return [...texts].map(([path, text]) => {
    const checked = program.getSourceFile(path)
    const source = checked ?? parsed(path, text)
    const nodes = nodesOf(source)
    const lineOf = (node: TS.Node) => source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1
    return {
      path,
      imports: nodes.flatMap((node) => {
        const found = importIn(node)
        return found ? [{ line: lineOf(node), ...found, ...target(path, found.specifier, texts) }] : []
      }),
      globals: nodes.flatMap((node) => {
        const name = checked && globalUseIn(node, checker)
        return name ? [{ line: lineOf(node), name }] : []
      }),
    }
  })
}

/** Comments are not read. Parents of nodes come with the checker, and imports need none. */
const parsed = (path: string, text: string): TS.SourceFile =>
  ts.createSourceFile(path, text, {
    languageVersion: ts.ScriptTarget.Latest,
    jsDocParsingMode: ts.JSDocParsingMode.ParseNone,
  })

/** No library and no resolution: a name that no module declares is a global. */
function programOf(texts: ReadonlyMap<string, string>): TS.Program {
  const options: TS.CompilerOptions = {
    noLib: true,
    noResolve: true,
    target: ts.ScriptTarget.Latest,
    moduleDetection: ts.ModuleDetectionKind.Force,
    jsx: ts.JsxEmit.Preserve,
  }
  return ts.createProgram([...texts.keys()], options, {
    getSourceFile: (path) => parsed(path, texts.get(path) ?? ''),
    getDefaultLibFileName: () => '',
    writeFile: () => {},
    getCurrentDirectory: () => '',
    getCanonicalFileName: (path) => path,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => '\n',
    fileExists: (path) => texts.has(path),
    readFile: (path) => texts.get(path),
  })
}

function nodesOf(root: TS.Node): TS.Node[] {
  const nodes = [root]
  for (const node of nodes) ts.forEachChild(node, (child) => void nodes.push(child))
  return nodes
}

type Written = Pick<Import, 'specifier' | 'typeOnly' | 'dynamic'>

function importIn(node: TS.Node): Written | undefined {
  const written = (specifier: TS.Node | undefined, typeOnly: boolean, dynamic = false): Written => ({
    specifier: specifier && ts.isStringLiteralLike(specifier) ? specifier.text : undefined,
    typeOnly,
    dynamic,
  })
  if (ts.isImportDeclaration(node)) return written(node.moduleSpecifier, node.importClause?.isTypeOnly ?? false)
  if (ts.isExportDeclaration(node) && node.moduleSpecifier) return written(node.moduleSpecifier, node.isTypeOnly)
  if (ts.isExternalModuleReference(node)) return written(node.expression, false)
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return written(node.argument.literal, true)
  if (!ts.isCallExpression(node)) return undefined
  const called = node.expression
  const loads = called.kind === ts.SyntaxKind.ImportKeyword || (ts.isIdentifier(called) && called.text === 'require')
  return loads ? written(node.arguments[0], false, true) : undefined
}

function target(
  from: string,
  specifier: string | undefined,
  texts: ReadonlyMap<string, string>,
): Pick<Import, 'path' | 'package'> {
  if (specifier === undefined) return { path: undefined, package: undefined }
  if (!specifier.startsWith('.')) return { path: undefined, package: packageOf(specifier) }
  const written = posix.join(posix.dirname(from), specifier)
  const stem = written.replace(/\.js$/, '')
  return { path: [`${stem}.ts`, `${stem}.tsx`].find((path) => texts.has(path)) ?? written, package: undefined }
}

const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

/** The global that this node uses, where the use is one that the architecture speaks of. */
function globalUseIn(node: TS.Node, checker: TS.TypeChecker): GlobalUse['name'] | undefined {
  const name = globalNamed(node, checker)
  const { parent } = node
  const member = parent && ts.isPropertyAccessExpression(parent) && parent.expression === node ? parent.name.text : ''
  if (name === 'fetch' || name === 'performance') return name
  if (name === 'crypto') return /^(getRandomValues|randomUUID)$/.test(member) ? 'crypto' : undefined
  // What takes Math or Date whole can take their members out of sight.
  if (name === 'Math') return member === '' || member === 'random' ? 'Math.random' : undefined
  if (name !== 'Date' || member === 'parse' || member === 'UTC') return undefined
  const readsNothing =
    ts.isNewExpression(parent) && parent.expression === node
      ? (parent.arguments?.length ?? 0) > 0
      : ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword
  return readsNothing ? undefined : 'Date'
}

const GLOBALS: ReadonlySet<string> = new Set(['Date', 'Math', 'crypto', 'fetch', 'globalThis', 'performance'])
const namesGlobal = new RegExp(`\\b(${[...GLOBALS].join('|')})\\b`)

/** `Date` for `Date` and for `globalThis.Date`, unless the name is the module's own or a type. */
function globalNamed(node: TS.Node, checker: TS.TypeChecker): string | undefined {
  if (ts.isPropertyAccessExpression(node)) {
    return globalNamed(node.expression, checker) === 'globalThis' ? node.name.text : undefined
  }
  if (!ts.isIdentifier(node) || !GLOBALS.has(node.text)) return undefined
  if (ts.isPartOfTypeNode(node) || isOnlyAName(node)) return undefined
  const symbol = ts.isShorthandPropertyAssignment(node.parent)
    ? checker.getShorthandAssignmentValueSymbol(node.parent)
    : checker.getSymbolAtLocation(node)
  return symbol?.declarations?.length ? undefined : node.text
}

/** The `fetch` of `service.fetch`, `{ fetch: … }`, `import { fetch as get }` and the like refers to no variable. */
function isOnlyAName(node: TS.Identifier): boolean {
  const { parent } = node
  if (ts.isShorthandPropertyAssignment(parent)) return false
  if (ts.isExportSpecifier(parent) || ts.isImportSpecifier(parent) || ts.isTypeQueryNode(parent)) return true
  if (ts.isBindingElement(parent) && parent.propertyName === node) return true
  if (ts.isJsxAttribute(parent) || ts.isJsxOpeningLikeElement(parent) || ts.isJsxClosingElement(parent)) return true
  return 'name' in parent && parent.name === node
}
