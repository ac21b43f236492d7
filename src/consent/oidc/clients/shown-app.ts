import { revealInvisible } from '../../../base/text/invisible-characters.js'
import { quoted } from '../../../base/text/quotation.js'
import type { OidcClientRow } from './client.js'
import { isDocumentId } from './document-id.js'

/**
 * An app as people see it. Anybody may choose any name, also one that looks like a host, so the name is in quotation
 * marks that it cannot close, and the host is apart from it.
 */
export interface ShownApp {
  /** The name in quotation marks, or words of the service for an app without a name. */
  readonly title: string
  /** The host of its metadata document, which nobody else can choose. Null if the app registered itself. */
  readonly host: string | null
}

export function shownApp(client: OidcClientRow): ShownApp {
  const name = chosenName(client)
  return { title: name === undefined ? unnamed(client) : quoted(name), host: appHost(client) }
}

/** The name of an app for programs. It proves nothing: show `appHost` beside it. */
export const appName = (client: OidcClientRow): string => chosenName(client) ?? unnamed(client)

/** The host of an app's metadata document. Null if the app registered itself. */
export const appHost = ({ id }: OidcClientRow): string | null => (isDocumentId(id) ? new URL(id).host : null)

/** What a second factor shows of an app, each in a line of its own. */
export const appFields = ({ title, host }: ShownApp) => ({ app: title, ...(host !== null && { app_host: host }) })

function chosenName({ metadata: { client_name = '' } }: OidcClientRow): string | undefined {
  return client_name.trim() === '' ? undefined : revealInvisible(client_name)
}

const unnamed = ({ id }: OidcClientRow): string =>
  isDocumentId(id) ? 'An app without a name' : `The app ${id.slice(0, 12)}…`
