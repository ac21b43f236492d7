/** Names of headers by which proxies, tunnels and delivery networks say for whom they pass a request on. */
const NAMES: ReadonlySet<string> = new Set([
  ...['forwarded', 'via', 'cdn-loop', 'x-varnish', 'x-proxyuser-ip', 'x-host', 'x-coming-from'],
  ...['x-azure-clientip', 'x-azure-socketip', 'x-azure-fdid', 'x-arr-log-id', 'x-sucuri-clientip', 'rlnclientipaddr'],
  ...['cf-ray', 'cf-visitor', 'cf-ipcountry', 'cf-worker', 'cf-ew-via', 'fastly-ff', 'fastly-ssl', 'x-amz-cf-id'],
  ...['akamai-origin-hop', 'x-appengine-https', 'x-real-host', 'x-real-port', 'x-scheme'],
])

/** Families of such headers, and every header that names an address: it ends in `-ip`, `-ipv6`, `-addr` and the like. */
const FAMILIES =
  /^(?:x-forwarded(?:-|$)|x-original-|x-envoy-|x-appengine-user-|fly-|x-nf-|x-vercel-|tailscale-|x-akamai-|x-proxy-)|(?:^|-)(?:(?:client|socket|remote|real|user)?ip(?:v[46])?|(?:remote|client|external|peer|real)-?addr(?:ess)?)$/

/** The headers that show that a request was passed on for someone who may be anywhere. */
export const forwardedHeaders = (names: Iterable<string>): string[] =>
  [...names].filter((name) => isForwarded(name.toLowerCase()))

const isForwarded = (name: string): boolean => NAMES.has(name) || FAMILIES.test(name)
