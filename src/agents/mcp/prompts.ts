import type * as sdk from '@modelcontextprotocol/server'

interface Prompt extends sdk.Prompt {
  /** What the user is taken to say. */
  say(args: Readonly<Record<string, string>>): string
}

const prompts: readonly Prompt[] = [
  {
    name: 'buy_something',
    title: 'Buy something',
    description: 'Find what is needed in the catalog, and buy it with the approval of the user.',
    arguments: [
      { name: 'what', description: 'What is needed.', required: true },
      { name: 'budget', description: 'How much it may cost at most.' },
    ],
    say: ({ what, budget }) =>
      [
        `I need this: ${what}.`,
        budget ? `It may cost ${budget} at most.` : '',
        'Look for it with catalog_search and tell me what fits, from whom and at what price.',
        'Once I have chosen, see with agent_wallet_info that the wallet holds enough, and buy it with agent_checkout.',
        'Where my approval is needed, ask with request_approval, show me the url, and go on once I have approved.',
        'Then show me what was delivered.',
      ]
        .filter(Boolean)
        .join(' '),
  },
  {
    name: 'sell_an_api',
    title: 'Sell an API',
    description: 'Put an HTTP endpoint up for sale to agents.',
    arguments: [
      { name: 'endpoint', description: 'The address of the API.', required: true },
      { name: 'price', description: 'What a call is to cost.' },
    ],
    say: ({ endpoint, price }) =>
      [
        `I want to sell calls of this API: ${endpoint}.`,
        price ? `A call is to cost ${price}.` : 'Ask me what a call is to cost.',
        'Look with agent_wallet_info whether I granted you a business account; where I did not, show me the url of choose_account, and go on once I have chosen.',
        'Ask me what the API does and which arguments it takes, write a name, a description and an input schema, and show me those.',
        'Then put it up with register_tool, which I approve, and try it with test_tool.',
      ].join(' '),
  },
]

export const listPrompts = (): sdk.Prompt[] => prompts.map(({ say, ...prompt }) => prompt)

/** Undefined where there is no prompt of that name, or an argument that it needs is missing: which one is told. */
export function readPrompt(
  name: string,
  args: Readonly<Record<string, string>>,
): sdk.GetPromptResult | { missing: string } | undefined {
  const prompt = prompts.find((each) => each.name === name)
  const missing = prompt?.arguments?.find((each) => each.required && !args[each.name])
  if (!prompt || missing) return missing && { missing: missing.name }
  const text = prompt.say(args)
  return {
    ...(prompt.description && { description: prompt.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }
}
