export { nameHidden as plain } from '../hidden.js'
