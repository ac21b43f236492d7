import FixedJsdom from 'jest-fixed-jsdom'

export default class extends FixedJsdom {
  constructor(...args) {
    super(...args)
    // The one of jsdom has no `subtle`.
    Object.defineProperty(this.global, 'crypto', { value: crypto })
  }
}
