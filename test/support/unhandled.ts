/** What MSW does with a request that no handler answers. MSW 3 has a new name for the option, and ignores the old one. */
export const unhandled = <const Strategy>(strategy: Strategy) => ({
  onUnhandledFrame: strategy,
  onUnhandledRequest: strategy,
})
