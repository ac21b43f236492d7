import type { ShownApp } from '../clients/shown-app.js'

/** An app in a sentence: its name in quotation marks, and the host of its metadata document apart from it. */
export const AppTitle = ({ title, host }: ShownApp) => (
  <>
    <bdi>{title}</bdi>
    {host !== null && (
      <>
        {' of '}
        <Host host={host} />
      </>
    )}
  </>
)

/** Who vouches for the name of an app. */
export const AppOrigin = ({ host }: Pick<ShownApp, 'host'>) =>
  host === null ? (
    <p class="muted">The app registered itself. Nobody has checked its name.</p>
  ) : (
    <p>
      This is the app of <Host host={host} />
    </p>
  )

const Host = ({ host }: { host: string }) => (
  <strong class="host" dir="ltr">
    {host}
  </strong>
)
