import { linkTo, operations } from './document.js'
import { type Member, membersOf, memberTable } from './interfaces.js'
import { code, page, prose, table } from './markdown.js'

const AGENT = 'src/sandbox/scripted-agent/agent.ts'

/** The methods of `service.sandbox` and of what they return, from the docstrings of their types. */
export const controlGroups = (): { title: string; intro: string; members: readonly Member[] }[] => [
  {
    title: 'service.sandbox',
    intro: 'Every sandbox has these. A service without the option `sandbox` throws.',
    members: [
      ...membersOf('src/sandbox/controls/sandbox.ts', 'Sandbox'),
      ...membersOf('src/sandbox/scripted-agent/controls.ts', 'AgentControls'),
    ],
  },
  {
    title: 'sandbox.phone',
    intro: '`sandbox.phone(userId)` returns a phone that you play.',
    members: membersOf('src/sandbox/controls/sandbox.ts', 'Phone'),
  },
  {
    title: 'sandbox.faults',
    intro: 'Failures on purpose. [Make calls fail](../guides/faults.md) says what they can do.',
    members: membersOf('src/sandbox/faults/faults.ts', 'FaultControls'),
  },
  {
    title: 'sandbox.agent',
    intro: '`await sandbox.agent(options)` takes these, and the `email` of the user.',
    members: membersOf(AGENT, 'AgentOptions'),
  },
  {
    title: 'A scripted agent',
    intro: '`sandbox.agent` returns one. It is an app that the user connected.',
    members: membersOf(AGENT, 'ScriptedAgent'),
  },
]

export const controlsPage = (): string =>
  page(
    '# Sandbox controls',
    'A sandbox has controls under `/_sandbox`, and the same ones as methods of `service.sandbox`. They are our own design: the real service has none. A field that a control does not know is an error.',
    '## Over HTTP',
    ...table(
      ['call', 'what it does'],
      operations
        .filter(({ operation }) => operation.tags[0] === 'sandbox')
        .map((each) => [
          each.places.map(({ method, path }) => code(`${method} ${path}`)).join(', '),
          `${linkTo(each)} ${prose(each.operation.summary)}`,
        ]),
    ),
    ...controlGroups().flatMap(({ title, intro, members }) => [
      `## ${title}`,
      intro,
      ...memberTable('member', members),
    ]),
  )
