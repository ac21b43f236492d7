import { computed, effect, signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { KeptRehearsal } from '../../src/sandbox/controls/service-controls.js'
import type { RehearsalReport } from '../../src/sandbox/onion/rehearsal-report.js'
import type { RehearsedFault } from '../../src/sandbox/rehearse/plan.js'
import { address, call } from './api.js'
import { Code, Empty, QuietLink, Scrolls, Select } from './parts.js'
import { go, linkTo, parts, tell, view } from './state.js'

/** A rehearsal as a matrix of calls and faults, each cell of which opens to its story. */
export function Rehearse() {
  useEffect(followRehearsals, [])
  const drop = async (event: DragEvent) => {
    event.preventDefault()
    if (await openReport(event.dataTransfer?.files[0])) go('rehearse', FILE)
  }
  return (
    <section aria-label="Rehearse" onDragOver={(event) => event.preventDefault()} onDrop={drop}>
      {report.value ? <Rehearsed report={report.value} /> : <None />}
    </section>
  )
}

const command = () => `npx farthing rehearse --url ${address} -- npm test`

const None = () => {
  if (kept.value === undefined) return <p class="muted">…</p>
  const isLost = kept.value.length > 0 || (shownId.value !== undefined && shownId.value !== FILE)
  return (
    <Empty title={isLost ? 'This rehearsal is not here' : 'Does your client pay twice?'}>
      <p>
        Run your tests or your client under faults: lost answers, errors, delays, raised prices. Each run ends as a cell
        here. A red one tells what the client did wrong.
      </p>
      <Code>{command()}</Code>
      <p class="acts">
        <Chooser />
      </p>
      <Choice />
    </Empty>
  )
}

/** Opens the report of a rehearsal that ended elsewhere. */
const Chooser = () => (
  <label class="quiet file">
    Open a JSON report
    <input
      type="file"
      accept=".json,application/json"
      onChange={async ({ currentTarget }) => {
        if (await openReport(currentTarget.files?.[0])) go('rehearse', FILE)
        currentTarget.value = ''
      }}
    />
  </label>
)

const Choice = () =>
  (kept.value?.length ?? 0) > 0 && (
    <Select
      label="Rehearsal"
      is="inline"
      value={shownId.value ?? ''}
      values={[
        ...(shownId.value === FILE ? [[FILE, 'from a file'] as const] : []),
        ...(kept.value ?? []).map(({ id, at, command: run }) => [id, `${at.slice(11, 19)} ${run}`] as const),
      ]}
      onChange={(id) => go('rehearse', id)}
    />
  )

function Rehearsed({ report: shown }: { report: Report }) {
  const { running, runs, plans, findings, cells } = shown
  const [, , call, kind] = parts.value
  const open = cells.find((cell) => callKey(cell) === call && cell.kind === kind)
  return (
    <>
      <div class="filters">
        <h2>{(shown.command ?? 'Rehearsal').split(' ').map((word) => [<span class="word">{word}</span>, ' '])}</h2>
        {running && <span class="tag">running</span>}
        <Choice />
        <Chooser />
      </div>
      <p role="status" aria-live="off" class={findings.length > 0 ? 'bad' : 'good'}>
        {findings.length > 0 ? `${counted(findings.length, 'finding')}` : 'No fault of the client'}
        <span class="muted">
          {' '}
          in {counted(runs, 'run')} of {plans} plans
        </span>
      </p>
      <div class={open ? 'split open' : 'split'}>
        <div>
          <Matrix shown={shown} open={open} />
          <Findings shown={shown} />
        </div>
        {open && <Story shown={shown} cell={open} />}
      </div>
    </>
  )
}

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** In the order of the columns. */
const faultNames: Readonly<Record<RehearsedFault, string>> = {
  lost_before: 'Lost before',
  lost_after: 'Answer lost',
  error_before: '503 before',
  error_after: '503 after',
  slow: 'Slow',
  twice: 'Twice',
  price_changed: 'Price raised',
  token_expired: 'Token expired',
  pending: 'Pending',
  refused: 'Said no',
  restart: 'Restart',
}

const nameOfKind = (kind: string): string =>
  (faultNames as Readonly<Record<string, string>>)[kind] ?? kind.replace(/_/g, ' ')

const marks = { waiting: ['·', 'not run yet'], passed: ['✓', 'passed'], failed: ['✗', 'failed'] } as const

/** Arrow keys walk through the cells. Only one of them is in the order of the key Tab. */
function Matrix({ shown: { cells }, open }: { shown: Report; open: ReportCell | undefined }) {
  const body = useRef<HTMLTableSectionElement>(null)
  const calls = [...new Map(cells.map((cell) => [callKey(cell), cell])).entries()]
  const kinds = Object.keys(faultNames).filter((kind) => cells.some((cell) => cell.kind === kind))
  const first = open ?? cells.find(({ state }) => state === 'failed') ?? cells[0]
  const isRepeated = (operation: string) => calls.filter(([, cell]) => cell.operation === operation).length > 1
  return (
    <Scrolls>
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">Call</th>
            {kinds.map((kind) => (
              <th key={kind} scope="col">
                {nameOfKind(kind)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} onKeyDown={(event) => walk(event, body.current)}>
          {calls.map(([key, { operation, nth }]) => (
            <tr key={key}>
              <th scope="row">
                {operation.split(/(?=[A-Z])/).map((part, at) => [at > 0 && <wbr />, part])}
                {isRepeated(operation) && <span class="muted"> {nth}</span>}
              </th>
              {kinds.map((kind) => {
                const cell = cells.find((each) => callKey(each) === key && each.kind === kind)
                return (
                  <td key={kind} class={cell?.state}>
                    {cell && <CellLink cell={cell} isOpen={cell === open} isFirst={cell === first} />}
                  </td>
                )
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolls>
  )
}

const CellLink = ({ cell, isOpen, isFirst }: { cell: ReportCell; isOpen: boolean; isFirst: boolean }) => {
  const [mark, text] = marks[cell.state]
  const told = cell.stories.map(({ title }) => title).join(', ') || text
  return (
    <a
      href={linkTo('rehearse', shownId.value ?? FILE, callKey(cell), cell.kind)}
      tabIndex={isFirst ? 0 : -1}
      aria-current={isOpen ? 'true' : undefined}
      aria-label={`${callKey(cell)}, ${nameOfKind(cell.kind)}: ${told}`}
      title={told}
    >
      {mark}
    </a>
  )
}

const steps: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
}

/** Goes to the next cell in a direction that has something. */
function walk(event: KeyboardEvent, body: HTMLTableSectionElement | null): void {
  const step = steps[event.key]
  const cell = (event.target as Element).closest('td')
  if (!step || !cell || !body) return
  event.preventDefault()
  const [down, right] = step
  let row = (cell.parentElement as HTMLTableRowElement).sectionRowIndex + down
  let column = cell.cellIndex + right
  for (let at = body.rows[row]?.cells[column]; at; at = body.rows[row]?.cells[column]) {
    const link = at.querySelector('a')
    if (link) return link.focus()
    row += down
    column += right
  }
}

/** What happened in one run. */
function Story({ shown, cell }: { shown: Report; cell: ReportCell }) {
  const { operation, nth, kind, state, stories, diagram } = cell
  const smallest = shown.findings.filter((finding) =>
    stories.some((story) => ['verdict', 'habit', 'operation'].every((key) => isSame(story, finding, key))),
  )
  return (
    <section class="detail" aria-label="Story">
      <p class="acts">
        <QuietLink href={linkTo('rehearse', shownId.value ?? FILE)}>Close</QuietLink>
      </p>
      <h2>
        {nameOfKind(kind)}: call {nth} of {operation}
      </h2>
      {stories.map(({ title, sentence }) => (
        <div key={sentence} class="why">
          <p class="bad">
            <strong>{title}</strong>
          </p>
          <p>{sentence}</p>
        </div>
      ))}
      {state === 'passed' && <p class="good">The client paid as it should.</p>}
      {state === 'waiting' && (
        <p class="muted">{shown.running ? 'Not run yet.' : 'The budget ended before this run.'}</p>
      )}
      {diagram !== '' && <Diagram text={diagram} />}
      {smallest.length > 0 && <h3>Smallest plan</h3>}
      {smallest.map(({ plan, habit, sentence }) => (
        <p key={`${habit} ${sentence}`}>{planText(plan)}</p>
      ))}
      <h3>To repeat it</h3>
      <Code>{again(shown)}</Code>
    </section>
  )
}

const isSame = (one: object, other: object, key: string): boolean =>
  (one as Record<string, unknown>)[key] === (other as Record<string, unknown>)[key]

const planText = (plan: Report['findings'][number]['plan']): string =>
  plan.length === 0
    ? 'It happens without a fault.'
    : plan.map(({ kind, operation, nth }) => `${nameOfKind(kind)}: call ${nth} of ${operation}`).join(', then ')

const Diagram = ({ text }: { text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
  <pre class="calls" tabIndex={0}>
    <code>{text}</code>
  </pre>
)

/** What the client does wrong, of all runs, those with two faults too. */
const Findings = ({ shown }: { shown: Report }) =>
  shown.findings.length > 0 && (
    <section aria-label="Findings">
      <h2>Findings</h2>
      {shown.findings.map(({ title, sentence, plan, diagram, verdict, habit, operation }) => (
        <details key={[verdict, habit, operation].join(' ')} class="changes">
          <summary>
            <strong class="bad">{title}</strong> {sentence}
          </summary>
          <div class="found">
            <p>Smallest plan: {planText(plan)}</p>
            <Diagram text={diagram} />
          </div>
        </details>
      ))}
    </section>
  )

/** What the view Rehearse knows. */

type Report = RehearsalReport
type ReportCell = Report['cells'][number]

/** The id of the report from a file. */
const FILE = 'file'

const kept = signal<readonly KeptRehearsal[] | undefined>(undefined)
const fromFile = signal<Report | undefined>(undefined)
const fetched = signal<{ readonly id: string; readonly report: Report } | undefined>(undefined)

/** The rehearsal that the address names, or the newest. */
const shownId = computed(() => parts.value[1] || kept.value?.[0]?.id)
const report = computed(() => {
  if (shownId.value === FILE) return fromFile.value
  return fetched.value?.id === shownId.value ? fetched.value?.report : undefined
})

const AGAIN_MS = 1000

/** Reads again while the view is open: runs end in between. */
function followRehearsals(): () => void {
  const timer = setInterval(() => document.hidden || void readShown(), AGAIN_MS)
  const stop = effect(() => {
    if (view.value === 'rehearse') void readShown(shownId.value)
  })
  return () => {
    clearInterval(timer)
    stop()
  }
}

async function readShown(id = shownId.peek()): Promise<void> {
  const list = await call('GET', '_sandbox/rehearsals')
  if (!list.ok) return
  if (JSON.stringify(kept.peek()) !== JSON.stringify(list.body.rehearsals)) kept.value = list.body.rehearsals
  const known = fetched.peek()
  if (id === undefined || id === FILE || (known?.id === id && known.report.running !== true)) return
  const answer = await call('GET', `_sandbox/rehearsals/${encodeURIComponent(id)}`)
  if (answer.ok) fetched.value = { id, report: answer.body }
}

/** Opens what `farthing rehearse --json` printed. */
async function openReport(file: File | undefined): Promise<boolean> {
  if (!file) return false
  try {
    const given = JSON.parse(await file.text())
    if (!Array.isArray(given.cells) || !Array.isArray(given.findings)) throw new Error()
    fromFile.value = given
    return true
  } catch {
    tell(`${file.name} is no report of farthing rehearse --json.`, true)
    return false
  }
}

/** `call 2 of createPayment`, or the operation if it is called once. */
const callKey = ({ operation, nth }: { operation: string; nth: number }): string => `${operation} ${nth}`

const again = ({ random_seed, runs, flags = [], command = 'npm test' }: Report): string =>
  `npx farthing rehearse ${[`--random-seed ${random_seed} --budget ${runs}`, ...flags].join(' ')} -- ${command}`
