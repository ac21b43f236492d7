export const mcpFeature = {
  areas: ['mcp', '.well-known'],
  load: () => import('./routes.js'),
  describe: () => import('./descriptions.js'),
}
