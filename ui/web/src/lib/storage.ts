// Browser storage that may be forbidden or full: then nothing is kept, and nothing breaks.

function wrap(get: () => Storage) {
  return {
    get(key: string): string {
      try {
        return get().getItem('jackline.' + key) ?? ''
      } catch {
        return ''
      }
    },
    set(key: string, value: string): void {
      try {
        if (value) get().setItem('jackline.' + key, value)
        else get().removeItem('jackline.' + key)
      } catch {
        // Forbidden or full.
      }
    },
  }
}

/** Gone with the tab: the token. */
export const tab = wrap(() => sessionStorage)
/** Kept: theme and drafts. */
export const kept = wrap(() => localStorage)
