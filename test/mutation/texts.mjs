/**
 * Leaves out sentences: the details of errors, the texts of mails, the reasons in logs. To change one is no change of a rule, and
 * a test that repeats it notices nothing else. Names, keys and types have no spaces. The literals of types run nowhere.
 */
export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'texts',
    value: {
      /** @param {{ node: { type: string, value?: unknown, quasis?: { value: { raw: string } }[] } }} path */
      shouldIgnore({ node: { type, value, quasis = [] } }) {
        if (type === 'TSLiteralType') return 'a type'
        const text = type === 'TemplateLiteral' ? quasis.map((part) => part.value.raw).join('') : value
        const isText = (type === 'TemplateLiteral' || type === 'StringLiteral') && typeof text === 'string'
        return isText && text.includes(' ') ? 'a text for people' : undefined
      },
    },
  },
]
