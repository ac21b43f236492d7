/** A plugin for Rolldown. It adds a file with this text to the build. */
export const emitFile = (fileName: string, source: string) => ({
  name: `emit-${fileName}`,
  generateBundle(this: { emitFile(file: { type: 'asset'; fileName: string; source: string }): void }) {
    this.emitFile({ type: 'asset', fileName, source })
  },
})
