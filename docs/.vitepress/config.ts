import { defineConfig } from 'vitepress'
import { coinIcon } from '../../src/http/pages/coin.js'
import { sidebar } from './sidebar.js'

/** Remembers each result, by all that was given. */
function rememberAll(make: (...given: string[]) => string): typeof make {
  const known = new Map<string, string>()
  return (...given) => {
    const key = JSON.stringify(given)
    const text = known.get(key) ?? make(...given)
    known.set(key, text)
    return text
  }
}

export default defineConfig({
  title: 'farthing',
  description: 'The micropayment service, in your process: for sandboxes, tests and offline demos.',
  lang: 'en',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: coinIcon }]],
  cleanUrls: true,
  // The index of a folder has the name that code hosts show with it.
  rewrites: { 'decisions/README.md': 'decisions/index.md' },
  // A sandbox on the reader's machine.
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    // The search renders each page once more.
    config({ options }) {
      const { highlight } = options
      if (highlight) options.highlight = rememberAll(highlight)
    },
  },
  themeConfig: {
    logo: { src: coinIcon, alt: '' },
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            boost: { title: 4, titles: 2, text: 1 },
            // A word such as "refund" is in many pages of the reference. Who looks for it wants to know how it works.
            boostDocument: (id: string, _term: string, stored?: Record<string, unknown>) =>
              (/\/guides\/|\/quick-start/.test(id) ? 4 : 1) * ([stored?.titles].flat().length === 0 ? 2 : 1),
          },
        },
      },
    },
    outline: [2, 3],
    nav: [
      { text: 'Reference', link: '/reference/' },
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Decisions', link: '/decisions/' },
    ],
    sidebar: sidebar(),
    footer: { message: 'MIT licence' },
  },
})
