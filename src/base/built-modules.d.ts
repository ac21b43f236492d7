/** A browser module as text, bundled and minified when this package is built: `import script from './page.client.ts?script'`. */
declare module '*?script' {
  const script: string
  export default script
}

/** A font file of a package, built into this one: `await import('a-package/a-file.woff?font')`. */
declare module '*?font' {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}

/** The text of each file in a folder, by its path there, when this package is built: `import files from './folder?files'`. */
declare module '*?files' {
  const files: Readonly<Record<string, string>>
  export default files
}
