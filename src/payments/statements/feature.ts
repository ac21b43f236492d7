import { binderImports, binderPieces, importedDelegates } from './binder-import-row.js'

export const statementFeature = {
  areas: ['twin'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
  collections: [binderImports, binderPieces, importedDelegates],
}
