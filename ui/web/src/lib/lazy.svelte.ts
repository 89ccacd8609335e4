// The parts of the page that its first sight can do without. They come right after it, so that nobody waits for them.

class Lazy<T> {
  value = $state.raw<T | null>(null)
  #get: () => Promise<T>
  #asked = false
  #tries = 0

  constructor(get: () => Promise<T>) {
    this.#get = get
  }

  /** Fetches the part unless it is here or on its way. */
  load(): void {
    if (this.#asked) return
    this.#asked = true
    this.#get().then(
      (part) => (this.value = part),
      () => {
        this.#asked = false
        // A server that was replaced has these files under other names: then only a reload helps.
        if (++this.#tries < 4) setTimeout(() => this.load(), 1500 * this.#tries)
        else failed.parts = true
      },
    )
  }
}

class Failed {
  parts = $state(false)
}

export const failed = new Failed()
/** Markdown: reader and sanitiser, the heaviest part. */
export const markdown = new Lazy(() => import('./markdown'))
/** The cards that a person answers. */
export const cards = new Lazy(() => import('./cards'))
export const sidePane = new Lazy(() => import('../components/SidePane.svelte'))
/** What a turn changed, and the way back. */
export const undo = new Lazy(() => import('../components/Undo.svelte'))
export const tour = new Lazy(() => import('../components/Tour.svelte'))
export const firstRun = new Lazy(() => import('../components/FirstRun.svelte'))
export const addEngine = new Lazy(() => import('../components/AddEngine.svelte'))
export const audit = new Lazy(() => import('../components/Audit.svelte'))
export const why = new Lazy(() => import('../components/Why.svelte'))
export const settings = new Lazy(() => import('../components/Settings.svelte'))
