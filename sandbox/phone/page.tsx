import { render } from 'preact'
import { Screen } from './screen.js'

/** The script of the page `/phone`. */

const root = document.getElementById('phone') as HTMLElement
const { userId = '', email = '' } = root.dataset
render(<Screen owner={{ userId, email }} />, root)
