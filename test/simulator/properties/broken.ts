/** A promise of the service that it broke. */
export class PropertyBroken extends Error {
  override name = 'PropertyBroken'
}

export function hold(isKept: boolean, property: string, evidence: unknown): void {
  if (!isKept) throw new PropertyBroken(`${property}: ${JSON.stringify(evidence)}`)
}
