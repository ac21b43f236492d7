/** The message that tells a worker to take over pages that it does not control yet. */
export const CLAIM = 'farthing: claim'

export interface RegisterOptions extends RegistrationOptions {
  /** Called each time that a newer worker takes over this page. */
  onUpdate?: () => void
}

/**
 * Registers a worker, and resolves when it answers the page's requests.
 * Rejects if the browser allows no workers here, if the page is outside the worker's scope, or if the script fails. A script
 * is one file in the format `iife`, or with `type: 'module'` an ES module in one file.
 */
export async function register(
  url: string | URL,
  { onUpdate, ...options }: RegisterOptions = {},
): Promise<ServiceWorkerRegistration> {
  const workers = 'serviceWorker' in navigator ? navigator.serviceWorker : undefined
  if (!workers) throw new Error('No service worker can run here: serve the page over https, or from localhost.')
  const registration = await workers.register(url, options).catch((cause: unknown) => {
    throw new Error(whyRefused(url, cause, options), { cause })
  })
  if (!location.href.startsWith(registration.scope))
    throw new Error(
      `This page is out of the worker's scope, ${registration.scope}: put the worker's script beside or above it.`,
    )
  const active = await activeOf(registration)
  // A forced reload leaves the page without its worker.
  if (!workers.controller) await claimed(workers, active)
  if (onUpdate) workers.addEventListener('controllerchange', onUpdate)
  return registration
}

/** Browsers say that a script failed, and not why. Mostly it is an ES module, which is no classic script. */
function whyRefused(url: string | URL, cause: unknown, { type = 'classic' }: RegistrationOptions): string {
  const said = cause instanceof Error ? cause.message : String(cause)
  const advice =
    type === 'module'
      ? 'Bundle it to one file: a worker cannot load a part of itself later.'
      : "Bundle it to one file in the format iife: import.meta, and import and export at the top, work only with { type: 'module' }."
  return `The worker ${url} cannot be registered. ${said.replace(/\.?$/, '.')} ${advice}`
}

function activeOf(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  const { installing, waiting, active } = registration
  if (active) return Promise.resolve(active)
  const worker = installing ?? waiting
  if (!worker) return Promise.reject(new Error(`No worker was registered for ${registration.scope}.`))
  return new Promise((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve(worker)
      if (worker.state === 'redundant')
        reject(new Error(`The worker ${worker.scriptURL} could not be installed; its own console says why.`))
    })
  })
}

async function claimed(workers: ServiceWorkerContainer, worker: ServiceWorker): Promise<void> {
  const changed = new Promise((resolve) => workers.addEventListener('controllerchange', resolve, { once: true }))
  worker.postMessage(CLAIM)
  if (!workers.controller) await changed
}
