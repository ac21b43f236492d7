export const mcpFeature = {
  areas: ['mcp', '.well-known'],
  load: async () => (await import('./routes.js')).mcpRoutes,
  describe: async () => (await import('./descriptions.js')).mcpTexts,
}
