import { type ComponentChild, render } from 'preact'
import { required } from '../../src/base/required.js'
import { App } from './app.js'
import { Notice } from './notice.js'
import { CannotStart, start } from './start.js'
import { readShown } from './state.js'

const root = required(document.getElementById('app'), 'The element #app')

/** In place of what index.html begins with. */
function show(shown: ComponentChild): void {
  root.replaceChildren()
  render(shown, root)
}

try {
  const payments = await start()
  show(<App payments={payments} first={await readShown()} />)
} catch (error) {
  const why = error instanceof CannotStart ? error.message : `Load this page again. (${error})`
  show(<Notice title="The shop cannot open here" text={why} />)
}
