/** What the OpenAPI document says in words. Each feature describes its own operations and fields. */

/** What `limit` means in a list that is whole without it. */
export const WHOLE_LIST_LIMIT = 'How many to return, from 1 to 100. Without `limit` and `after`, the answer has all.'

/** How many items a plan allows, where an account creates one. */
export const ITEM_LIMITS =
  'The plan of the account limits its active items: 25 in Free, 500 in Growth. One more gets `plan_limit_reached`.'

type Fields = Readonly<Record<string, string>>

/**
 * The descriptions of a feature. `operations`: by operation id. `fields`: of its parameters, bodies and answers, by
 * name, or by `operationId.name` where an operation means something else by it. `components`: the shapes that it names,
 * with `is` for the shape itself. A field of an object inside has its path, such as `usage.mcp_calls`.
 */
export interface FeatureTexts {
  readonly operations: Fields
  readonly fields?: Fields
  readonly components?: Readonly<Record<string, Fields & { readonly is: string }>>
  /** The security schemes of operations that check their credentials themselves. An empty list: none is needed. */
  readonly security?: Readonly<Record<string, readonly (readonly string[])[]>>
}

/** The type of the descriptions of a feature with these routes: each of its operations has one. */
export type TextsOf<Routes extends Readonly<Record<string, object>>> = FeatureTexts & {
  readonly operations: { readonly [Id in keyof Routes]: string }
}

/** Every description of the document. */
export interface Texts {
  /** At the top of the document, in Markdown. */
  readonly introduction: string
  readonly tags: Fields
  readonly fields: Fields
  readonly features: readonly FeatureTexts[]
}

/** Finds descriptions, and knows which are missing and which describe nothing. */
export class Descriptions {
  /** What has no description, such as `createPayment.hostname`. */
  readonly missing = new Set<string>()
  readonly #used = new Map<Fields, Set<string>>()

  constructor(readonly texts: Texts) {}

  operation(id: string): string {
    return this.#find(id, [[this.#featureOf(id)?.operations, id]])
  }

  tag(tag: string): string {
    return this.#find(tag, [[this.texts.tags, tag]])
  }

  component(name: string): string {
    return this.#find(name, [[this.#ownerOf(name)?.components?.[name], 'is']])
  }

  /** The description of a field of a named shape. `path`: its names from the outside to the inside. */
  componentField(name: string, path: readonly string[]): string {
    const owner = this.#ownerOf(name)
    return this.#find(`${name}.${path.join('.')}`, [
      [owner?.components?.[name], path.join('.')],
      ...this.#shared(owner, path),
    ])
  }

  /** The description of a parameter, or of a field of a body or an answer that only this operation has. */
  operationField(id: string, path: readonly string[]): string {
    const feature = this.#featureOf(id)
    const whole = `${id}.${path.join('.')}`
    return this.#find(whole, [[feature?.fields, whole], ...this.#shared(feature, path)])
  }

  security(id: string): readonly (readonly string[])[] | undefined {
    return this.#featureOf(id)?.security?.[id]
  }

  /** The descriptions that nothing has asked for, such as `Payment.kind`. */
  unused(): string[] {
    const { tags, fields, features } = this.texts
    const lists = [['tag', tags], ['every', fields], ...features.flatMap(listsOf)] as const
    return lists.flatMap(([label, texts]) =>
      Object.keys(texts)
        .filter((key) => !this.#used.get(texts)?.has(key))
        .map((key) => `${label}.${key}`),
    )
  }

  #shared(feature: FeatureTexts | undefined, path: readonly string[]): [Fields | undefined, string][] {
    const name = path.at(-1) ?? ''
    return [
      [feature?.fields, path.join('.')],
      [feature?.fields, name],
      [this.texts.fields, name],
    ]
  }

  #find(what: string, places: readonly (readonly [Fields | undefined, string])[]): string {
    for (const [texts, key] of places) {
      const text = texts && Object.hasOwn(texts, key) ? texts[key] : undefined
      if (texts === undefined || text === undefined) continue
      this.#used.set(texts, (this.#used.get(texts) ?? new Set()).add(key))
      return text
    }
    this.missing.add(what)
    return ''
  }

  #featureOf = (id: string) => this.texts.features.find(({ operations }) => Object.hasOwn(operations, id))
  #ownerOf = (name: string) => this.texts.features.find(({ components = {} }) => Object.hasOwn(components, name))
}

function listsOf({ operations, fields = {}, components = {} }: FeatureTexts): (readonly [string, Fields])[] {
  const [label = ''] = Object.keys(operations)
  return [['operation', operations], [`${label} and others`, fields], ...Object.entries(components)]
}
