/** Whether the header `Accept-Payment` takes a method and intent, such as `evm/charge`. Without it, everything is taken. */
export function acceptsPayment(header: string | null, method: string, intent: string): boolean {
  if (header === null || header.trim() === '') return true
  let best = { specificity: -1, q: 0 }
  for (const entry of header.slice(0, 1024).split(',')) {
    const [range = '', ...parameters] = entry.split(';').map((part) => part.trim())
    const [wanted = '', purpose = '*'] = range.toLowerCase().split('/')
    if ((wanted !== method && wanted !== '*') || (purpose !== intent && purpose !== '*')) continue
    const specificity = Number(wanted !== '*') + Number(purpose !== '*')
    const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2)
    const q = weight === undefined ? 1 : Number(weight)
    if (specificity > best.specificity || (specificity === best.specificity && q > best.q)) best = { specificity, q }
  }
  return best.q > 0
}
