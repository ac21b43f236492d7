/** How much of a thing a run tries: `some` in `npm test`, and `all` in `npm run test:all`. */
export const isWhole: boolean = process.env.FARTHING_TEST_ALL !== undefined
export const howMuch = <T>(some: T, all: T): T => (isWhole ? all : some)
