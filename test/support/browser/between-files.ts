import { quickenPromises } from './quick-promises.js'

// After a file of the same process that used a browser.
quickenPromises()
