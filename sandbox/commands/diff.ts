import type { Evidence } from '../../src/base/evidence.js'
import { loadTexts } from '../../src/composition/descriptions.js'
import { features } from '../../src/features.js'
import { type DocumentedService, openapi } from '../../src/http/openapi/document.js'
import { loadRouteList } from '../../src/routes.js'
import { Refusal } from '../refusal.js'
import { printLines } from '../terminal.js'
import { type Comparison, compare } from './diff/compare.js'
import { basePathOf, type DescribedOperation, keyOf, operationsIn } from './diff/described.js'
import { operationsOfSession } from './diff/recorded.js'
import { type ComparedSource, reportLines } from './diff/report.js'
import { readSource, type Source } from './diff/source.js'

interface DiffOrder {
  /** A file or a URL. */
  readonly place: string
  readonly evidence: Evidence
  readonly json: boolean
}

/**
 * Prints how another OpenAPI document or a recorded session differs from farthing. The exit code is 1 if it does.
 * Throws `Refusal`.
 */
export async function diff({ place, evidence, json }: DiffOrder): Promise<void> {
  const { comparison, source } = compareSource(await readSource(place), evidence, await loadTable())
  const { missing, extra, different } = comparison
  printLines(json ? [JSON.stringify({ evidence, ...source, ...comparison })] : reportLines(comparison, source))
  if (missing.length + extra.length + different.length > 0) process.exitCode = 1
}

async function loadTable() {
  const [routes, texts] = await Promise.all([loadRouteList(), loadTexts(features)])
  return { routes, texts }
}

/** Compares a source with what a service of this evidence grade has. Throws `Refusal`. */
export function compareSource(
  source: Source,
  evidence: Evidence,
  table: Pick<DocumentedService, 'routes' | 'texts'>,
): { readonly comparison: Comparison; readonly source: ComparedSource } {
  const document = openapi({ ...table, baseUrl: 'http://127.0.0.1:4242', evidence })
  const ours = operationsIn(document, 'farthing')
  const { name, kind } = source
  if (kind === 'openapi') {
    const operations = placed(operationsIn(source.document, name), basePathOf(source.document), ours)
    return { comparison: compare(ours, { operations, isSample: false }), source: { name, kind } }
  }
  const { operations, skipped } = operationsOfSession(source.entries, ours)
  if (operations.length === 0) throw new Refusal(`${name} records no request to the service`)
  return { comparison: compare(ours, { operations, isSample: true }), source: { name, kind, skipped } }
}

/**
 * The operations with the path of their server in front, if more of them are then farthing's. A server's path is a part of
 * the interface, such as `/v4`, or only where the service happens to be.
 */
function placed(
  theirs: readonly DescribedOperation[],
  basePath: string,
  ours: readonly DescribedOperation[],
): readonly DescribedOperation[] {
  const known = new Set(ours.map(({ method, path }) => keyOf(method, path)))
  const below = theirs.map((operation) => ({ ...operation, path: basePath + operation.path }))
  const found = (operations: readonly DescribedOperation[]) =>
    operations.filter(({ method, path }) => known.has(keyOf(method, path))).length
  return found(below) > found(theirs) ? below : theirs
}
