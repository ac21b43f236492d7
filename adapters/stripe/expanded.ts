/** Returns a part of a Stripe object that the request expanded. Throws if Stripe sent only its id, or nothing. */
export function expanded<Part extends object>(part: Part | string | null | undefined, name: string): Part {
  if (typeof part !== 'object' || part === null) throw new Error(`Stripe: ${name} was not expanded`)
  return part
}
