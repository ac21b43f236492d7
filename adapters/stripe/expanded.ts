/** A part of one of Stripe's objects that was asked for whole. Throws where Stripe gave its id alone, or nothing. */
export function expanded<Part extends object>(part: Part | string | null | undefined, name: string): Part {
  if (typeof part !== 'object' || part === null) throw new Error(`Stripe: ${name} was not expanded`)
  return part
}
