import { binderImports, binderPieces, importedDelegates } from './binder-import-row.js'

export const statementFeature = {
  areas: ['twin'],
  load: async () => (await import('./routes.js')).statementRoutes,
  describe: async () => (await import('./descriptions.js')).statementTexts,
  collections: [binderImports, binderPieces, importedDelegates],
}
