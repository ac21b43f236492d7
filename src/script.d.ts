/** A browser module as text, bundled and minified when this package is built: `import script from './page.client.ts?script'`. */
declare module '*?script' {
  const script: string
  export default script
}
