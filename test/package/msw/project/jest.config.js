export default {
  testEnvironment: './jest-environment.js',
  // Node loads the modules as they are.
  transform: {},
}
