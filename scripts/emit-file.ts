/** Puts a text among what is built, under this name. A plugin for Rolldown. */
export const emitFile = (fileName: string, source: string) => ({
  name: `emit-${fileName}`,
  generateBundle(this: { emitFile(file: { type: 'asset'; fileName: string; source: string }): void }) {
    this.emitFile({ type: 'asset', fileName, source })
  },
})
