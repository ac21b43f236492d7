/** The colours of every page, by the name of their custom property. No page defines colours of its own. */
export const palette = {
  light: {
    ground: '#faf8f4',
    card: '#ffffff',
    text: '#1d2026',
    muted: '#5d6068',
    line: '#e2ddd3',
    edge: '#87837a',
    primary: '#0b6159',
    'on-primary': '#ffffff',
    focus: '#2563eb',
    good: '#1a7f4b',
    bad: '#b3261e',
    warning: '#8f5300',
    code: '#f3f0ea',
    bezel: '#22262d',
    coin: '#a4552a',
    'on-coin': '#fff',
    shade: 'rgb(12 16 22 / .55)',
    shadow: 'rgb(10 14 20 / .35)',
  },
  dark: {
    ground: '#15181d',
    card: '#1d2128',
    text: '#eceae5',
    muted: '#a9a8a4',
    line: '#333842',
    edge: '#80838b',
    primary: '#5cc4b8',
    'on-primary': '#15181d',
    focus: '#8ab4ff',
    good: '#5fd39a',
    bad: '#ff8a80',
    warning: '#f2b45c',
    code: '#242932',
    bezel: '#434a55',
    coin: '#a4552a',
    'on-coin': '#fff',
    shade: 'rgb(12 16 22 / .55)',
    shadow: 'rgb(10 14 20 / .35)',
  },
  /** What a printer puts on white paper. */
  print: { ground: '#ffffff', card: '#ffffff', text: '#000000', muted: '#444444', line: '#bbbbbb', good: '#000000' },
} as const

/** The colours of a theme as custom properties. */
export const colorsOf = (theme: keyof typeof palette): string =>
  Object.entries(palette[theme])
    .map(([name, color]) => `--${name}:${color};`)
    .join('')

/** For pages in the theme that their reader prefers. */
export const paletteCss = `
:root { color-scheme: light dark; ${colorsOf('light')} }
@media (prefers-color-scheme: dark) { :root { ${colorsOf('dark')} } }`
