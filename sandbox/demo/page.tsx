import { type ComponentChild, render } from 'preact'
import { required } from '../../src/base/required.js'
import { App, Notice, Outdated } from './app.js'
import { CannotStart, PageOutdated, readDemoView, start } from './state.js'

const root = required(document.getElementById('app'), 'The element #app')

function show(shown: ComponentChild): void {
  root.replaceChildren()
  render(shown, root)
}

try {
  const payments = await start()
  show(<App payments={payments} first={await readDemoView()} />)
} catch (error) {
  if (error instanceof PageOutdated) show(<Outdated why={error.message} />)
  else {
    const why = error instanceof CannotStart ? error.message : `Reload this page. (${error})`
    show(<Notice title="The shop cannot start" text={why} />)
  }
}
