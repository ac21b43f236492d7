import { render } from 'preact'
import { required } from '../../src/base/required.js'
import { Screen } from './screen.js'

/** The script of the page `/phone`. */

const root = required(document.getElementById('phone'), 'The element #phone')
const { userId = '', email = '' } = root.dataset
render(<Screen owner={{ userId, email }} />, root)
