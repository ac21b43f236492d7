import { render } from 'preact'
import { required } from '../../src/base/required.js'
import { App } from './app.js'
import { follow } from './state.js'

const root = required(document.getElementById('app'), 'The element #app')
root.replaceChildren()
render(<App />, root)
void follow()
