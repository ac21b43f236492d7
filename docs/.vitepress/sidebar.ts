import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { DefaultTheme } from 'vitepress'

type Item = DefaultTheme.SidebarItem

const docs = fileURLToPath(new URL('..', import.meta.url))

/** What each group of guides begins with. The guides of no group come last. */
const guideGroups: Readonly<Record<string, readonly string[]>> = {
  'Test your code': [
    'testing',
    'vitest',
    'faults',
    'rehearse',
    'typed-client',
    'front-end-tests',
    'react-msw',
    'playwright',
    'replay',
    'agents-in-tests',
    'coding-agents',
    'continuous-integration',
    'container',
  ],
  'Sell and pay': [
    'payment-element',
    'payback-element',
    'verify-element',
    'express',
    'hono',
    'next',
    'catalog',
    'funding',
    'retries',
    'paywall',
    'cards',
    'billing',
    'webhooks',
    'curl',
  ],
  'People and agents': ['people', 'signing-in', 'agents-over-mcp'],
  'x402 and MPP': ['test-an-x402-shop', 'test-an-mpp-shop', 'test-an-agent-that-pays', 'break-x402', 'what-clients-do'],
  'Run it': [
    'sandbox',
    'your-own-seed',
    'workbench',
    'reach',
    'shared-sandbox',
    'team-sandbox',
    'watching',
    'overload',
    'how-fast',
    'service-workers',
    'offline-demo',
    'workers',
    'keeping-state-safe',
    'postgresql',
    'many-processes',
    'importing-a-binder',
    'updating',
    'comparing-services',
  ],
}

/** The sidebar of the site. Pages are listed by their titles, so that a new file needs no change here. */
export function sidebar(): Item[] {
  const [index, ...reference] = pagesIn('reference')
  const groups: Item[] = [
    { text: 'Start', items: pages('quick-start.md') },
    {
      text: 'Reference',
      items: [
        ...(index ? [index] : []),
        { text: 'Operations', collapsed: true, items: pagesIn('reference/operations') },
        ...reference,
        ...pages('reliability.md', 'retention.md', 'trust.md'),
      ],
    },
    ...guides(),
    { text: 'Concepts', items: [...pagesIn('concepts'), ...pages('glossary.md')] },
    { text: 'Decisions', collapsed: true, items: pagesIn('decisions') },
  ]
  return groups.filter(({ items }) => items?.length)
}

/** The guides in their groups. A new one needs no place here. */
function guides(): Item[] {
  const all = pagesIn('guides')
  const linkOf = (name: string) => `/guides/${name}`
  const placed = Object.entries(guideGroups).map(([text, names]) => ({
    text,
    items: names.flatMap((name) => all.filter(({ link }) => link === linkOf(name))),
  }))
  const known = new Set(Object.values(guideGroups).flat().map(linkOf))
  return [...placed, { text: 'More guides', items: all.filter(({ link = '' }) => !known.has(link)) }]
}

/** The pages of a folder, by title, its index first. */
function pagesIn(folder: string): Item[] {
  if (!existsSync(join(docs, folder))) return []
  const names = readdirSync(join(docs, folder)).filter((name) => name.endsWith('.md'))
  const items = names.flatMap((name) => pages(`${folder}/${name}`))
  const place = ({ link = '', text = '' }: Item) => (link.endsWith('/') ? '' : text)
  return items.sort((a, b) => place(a).localeCompare(place(b), 'en'))
}

const pages = (...paths: string[]): Item[] =>
  paths
    .filter((path) => existsSync(join(docs, path)))
    .map((path) => ({ text: titleOf(path), link: `/${path.replace(/(index|README)?\.md$/, '')}` }))

function titleOf(path: string): string {
  const [, title] = /^# (.+)$/m.exec(readFileSync(join(docs, path), 'utf8')) ?? []
  if (title === undefined) throw new Error(`docs/${path} has no title: begin it with "# …"`)
  return title.replaceAll('`', '')
}
