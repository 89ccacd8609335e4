// The Markdown reader and sanitiser are most of the page's weight and nothing of its first sight, so they come after it.

type Reader = typeof import('./markdown')

class Md {
  reader = $state.raw<Reader | null>(null)
  #asked: Promise<unknown> | null = null

  load(): void {
    this.#asked ??= import('./markdown').then(
      (m) => (this.reader = m),
      () => setTimeout(() => ((this.#asked = null), this.load()), 3000),
    )
  }
}

export const md = new Md()
