import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { routeList, texts } from '../../../scripts/route-table.js'
import { examples, openapi } from '../../../src/http/openapi/document.js'
import { need, npmPackages, run } from '../support/toolchain.js'

const folder = mkdtempSync(join(tmpdir(), 'farthing-openapi-'))
const file = join(folder, 'openapi.json')
const baseUrl = 'https://pay.example.test'
writeFileSync(file, JSON.stringify(openapi({ routes: routeList, baseUrl, evidence: 'designed', texts, examples })))

afterAll(() => rmSync(folder, { recursive: true }))

it('Redocly reports nothing', async (context) => {
  const tools = await need(context, npmPackages('redocly', { '@redocly/cli': '2.77.0' }))
  const config = join(folder, 'redocly.yaml')
  // A form of a page answers 303, which is its success.
  writeFileSync(config, 'extends: [recommended]\nrules:\n  operation-2xx-response: off\n')
  const { code, output } = await run([bin(tools, 'redocly'), 'lint', file, `--config=${config}`, '--format=json'], {
    env: { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  })
  expect(output).toMatch(/"problems":\s*\[\]/)
  expect(code).toBe(0)
})

it('Spectral reports nothing', async (context) => {
  const tools = await need(context, npmPackages('spectral', { '@stoplight/spectral-cli': '6.16.3' }))
  const ruleset = join(folder, '.spectral.yaml')
  writeFileSync(ruleset, 'extends: ["spectral:oas"]\n')
  const { code, output } = await run([
    bin(tools, 'spectral'),
    'lint',
    file,
    '--ruleset',
    ruleset,
    '--fail-severity=hint',
  ])
  expect(output).toContain('No results with a severity of')
  expect(code).toBe(0)
})

const bin = (tools: string, name: string): string => join(tools, 'node_modules', '.bin', name)
