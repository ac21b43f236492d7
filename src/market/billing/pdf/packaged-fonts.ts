/** Arimo, which has the metrics of Helvetica. The package contains it in parts that are loaded when needed. */
const PARTS = [
  {
    // Vietnamese letters are in the extended range. Their later marks are not.
    has: /[\u0100-\u02ff\u1e00-\u1eff\u2000-\u20cf\u2100-\u21ff\u2c60-\u2c7f\ua720-\ua7ff]/u,
    load: () => import('@fontsource/arimo/files/arimo-latin-ext-400-normal.woff?font'),
  },
  {
    has: /[\u01a0-\u01b0\u1ea0-\u1ef9\u20ab]/u,
    load: () => import('@fontsource/arimo/files/arimo-vietnamese-400-normal.woff?font'),
  },
  { has: /[\u0370-\u03ff]/u, load: () => import('@fontsource/arimo/files/arimo-greek-400-normal.woff?font') },
  { has: /[\u1f00-\u1fff]/u, load: () => import('@fontsource/arimo/files/arimo-greek-ext-400-normal.woff?font') },
  {
    has: /[\u0400-\u045f\u0490\u0491\u04b0\u04b1\u2116]/u,
    load: () => import('@fontsource/arimo/files/arimo-cyrillic-400-normal.woff?font'),
  },
  {
    has: /[\u0460-\u052f\u1c80-\u1c8a\u20b4\u2de0-\u2dff\ua640-\ua69f]/u,
    load: () => import('@fontsource/arimo/files/arimo-cyrillic-ext-400-normal.woff?font'),
  },
  {
    has: /[\u0590-\u05ff\u20aa\ufb1d-\ufb4f]/u,
    load: () => import('@fontsource/arimo/files/arimo-hebrew-400-normal.woff?font'),
  },
] as const

const loadLatin = () => import('@fontsource/arimo/files/arimo-latin-400-normal.woff?font')

/** Returns the parts that these characters need, and the part with Latin letters. */
export async function packagedFonts(characters: readonly string[]): Promise<Uint8Array<ArrayBuffer>[]> {
  const text = characters.join('')
  const parts = PARTS.filter(({ has }) => has.test(text))
  const modules = await Promise.all([loadLatin(), ...parts.map(({ load }) => load())])
  return modules.map((module) => module.default).filter(({ length }) => length > 0)
}
