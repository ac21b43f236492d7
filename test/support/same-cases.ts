import fc from 'fast-check'

// A red run is to be about the change, so `npm test` draws the same random cases each time. `test:all` and `test:long` draw new ones.
if (!process.env.FARTHING_TEST_ALL && !process.env.FARTHING_RUNS) fc.configureGlobal({ seed: 4242 })
