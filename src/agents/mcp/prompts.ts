import type * as sdk from '@modelcontextprotocol/server'

interface Prompt extends sdk.Prompt {
  say(args: Readonly<Record<string, string>>): string
}

const prompts: readonly Prompt[] = [
  {
    name: 'buy_something',
    title: 'Buy something',
    description: "Find an item in the catalog, and buy it with the user's approval.",
    arguments: [
      { name: 'what', description: 'What the user needs.', required: true },
      { name: 'budget', description: 'The most it may cost.' },
    ],
    say: ({ what, budget }) =>
      [
        `I need this: ${what}.`,
        budget ? `It may cost ${budget} at most.` : '',
        'Search for it with catalog_search, and tell me what fits, who sells it and what it costs.',
        'When I have chosen, check with agent_wallet_info that the wallet has enough, and buy it with agent_checkout.',
        'If it needs my approval, call request_approval, show me the url, and continue when I have approved.',
        'Then show me what was delivered.',
      ]
        .filter(Boolean)
        .join(' '),
  },
  {
    name: 'sell_an_api',
    title: 'Sell an API',
    description: 'Sell calls of an HTTP endpoint to agents.',
    arguments: [
      { name: 'endpoint', description: 'The URL of the API.', required: true },
      { name: 'price', description: 'The price of a call.' },
    ],
    say: ({ endpoint, price }) =>
      [
        `I want to sell calls of this API: ${endpoint}.`,
        price ? `A call costs ${price}.` : 'Ask me what a call should cost.',
        'Check with agent_wallet_info whether I granted you a business account. If not, show me the url of choose_account, and continue when I have chosen.',
        'Ask me what the API does and which arguments it takes, write a name, a description and an input schema, and show me those.',
        'Then offer it with register_tool, which I approve, and try it with test_tool.',
      ].join(' '),
  },
]

export const listPrompts = (): sdk.Prompt[] => prompts.map(({ say, ...prompt }) => prompt)

/** Returns a prompt, the name of a missing argument, or undefined for an unknown prompt. */
export function readPrompt(name: string, args: Readonly<Record<string, string>>) {
  const prompt = prompts.find((each) => each.name === name)
  const missing = prompt?.arguments?.find((each) => each.required && !args[each.name])
  if (!prompt || missing) return missing && { missing: missing.name }
  const text = prompt.say(args)
  return {
    ...(prompt.description && { description: prompt.description }),
    messages: [{ role: 'user', content: { type: 'text', text } }],
  }
}
