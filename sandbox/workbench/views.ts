/** The views of the workbench by their places in its address, in the order in which they are shown. */
export const views = {
  live: 'Live',
  inbox: 'Inbox',
  data: 'Data',
  states: 'States',
  try: 'Try',
  break: 'Break it',
  rehearse: 'Rehearse',
  connect: 'Connect',
} as const

export type View = keyof typeof views
export const viewNames = Object.keys(views) as View[]
