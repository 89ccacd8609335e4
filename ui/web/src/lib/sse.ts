// Server-sent events over fetch, because EventSource cannot send a token, and a stream that comes back by itself.

import type { Event } from './types'

export interface Frame {
  id: string
  event: string
  data: string
}

/** Cuts a byte stream, in whatever pieces it comes, into frames. Comments and retry lines give nothing. */
export class FrameParser {
  #rest = ''
  #id = ''
  #event = ''
  #data: string[] = []

  push(chunk: string): Frame[] {
    const frames: Frame[] = []
    this.#rest += chunk
    for (;;) {
      const m = /\r\n|\n|\r(?!$)/.exec(this.#rest)
      if (!m) return frames
      const line = this.#rest.slice(0, m.index)
      this.#rest = this.#rest.slice(m.index + m[0].length)
      if (line === '') {
        if (this.#data.length) frames.push({ id: this.#id, event: this.#event || 'message', data: this.#data.join('\n') })
        this.#id = ''
        this.#event = ''
        this.#data = []
        continue
      }
      const colon = line.indexOf(':')
      if (colon === 0) continue
      const field = colon < 0 ? line : line.slice(0, colon)
      let value = colon < 0 ? '' : line.slice(colon + 1)
      if (value.startsWith(' ')) value = value.slice(1)
      if (field === 'data') this.#data.push(value)
      else if (field === 'event') this.#event = value
      else if (field === 'id') this.#id = value
    }
  }
}

/** How long to wait before attempt n (from 1): doubling from half a second to 15 s, with up to a quarter of chance. */
export function backoff(attempt: number, random: () => number = Math.random): number {
  const base = Math.min(15_000, 500 * 2 ** Math.min(attempt - 1, 10))
  return Math.round(base * (1 + random() / 4))
}

export type Connection = { state: 'live' | 'connecting' | 'offline' | 'closed'; attempt: number }

export interface StreamOptions {
  url: string
  headers: () => Record<string, string>
  /** The cursor to go on from; "" or 0 means from the beginning. */
  cursor: () => string | number
  onEvent: (event: Event) => void
  onState: (state: Connection) => void
  /** The server said no: 401, 404, 410. Return true to try again. */
  onRefused: (status: number) => boolean
  /** Silence after which a line is taken for dead; the server sends a comment every 15 s. */
  silence?: number
  fetch?: typeof fetch
  wait?: (ms: number) => number
}

export class Stream {
  #o: StreamOptions
  #abort: AbortController | null = null
  #timer: ReturnType<typeof setTimeout> | undefined
  #watch: ReturnType<typeof setTimeout> | undefined
  #attempt = 0
  #closed = false

  constructor(o: StreamOptions) {
    this.#o = o
    this.#open()
  }

  close(): void {
    this.#closed = true
    this.#drop()
    this.#o.onState({ state: 'closed', attempt: 0 })
  }

  /** Drops the line and opens a new one now, from the cursor. */
  reconnect(): void {
    if (this.#closed) return
    this.#drop()
    this.#open()
  }

  #drop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#watch)
    this.#abort?.abort()
    this.#abort = null
  }

  #later(): void {
    if (this.#closed) return
    this.#attempt++
    // After a few tries it is fair to say that the server is away rather than slow.
    this.#o.onState({ state: this.#attempt > 4 ? 'offline' : 'connecting', attempt: this.#attempt })
    const ms = (this.#o.wait ?? backoff)(this.#attempt)
    this.#timer = setTimeout(() => this.#open(), ms)
  }

  async #open(): Promise<void> {
    const abort = new AbortController()
    this.#abort = abort
    const alive = () => !this.#closed && this.#abort === abort
    const watch = () => {
      clearTimeout(this.#watch)
      this.#watch = setTimeout(() => {
        if (!alive()) return
        this.#drop()
        this.#later()
      }, this.#o.silence ?? 40_000)
    }
    if (this.#attempt === 0) this.#o.onState({ state: 'connecting', attempt: 0 })
    try {
      watch()
      const cursor = String(this.#o.cursor() || '')
      const res = await (this.#o.fetch ?? fetch)(this.#o.url, {
        headers: {
          ...this.#o.headers(),
          Accept: 'text/event-stream',
          ...(cursor ? { 'Last-Event-ID': cursor } : {}),
        },
        signal: abort.signal,
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      })
      if (!alive()) return
      if (!res.ok || !res.body) {
        if ([401, 403, 404, 410].includes(res.status) && !this.#o.onRefused(res.status)) {
          this.close()
          return
        }
        throw new Error('refused')
      }
      const reader = res.body.getReader()
      const decoder = new TextDecoder()
      const parser = new FrameParser()
      for (;;) {
        const { done, value } = await reader.read()
        if (!alive()) return
        if (done) break
        watch()
        for (const frame of parser.push(decoder.decode(value, { stream: true }))) {
          let event: Event
          try {
            event = JSON.parse(frame.data)
          } catch {
            continue
          }
          if (event.type === 'ready') {
            this.#attempt = 0
            this.#o.onState({ state: 'live', attempt: 0 })
          }
          this.#o.onEvent(event)
          if (!alive()) return
        }
      }
    } catch {
      // A broken line and a refused one are both tried again.
    }
    if (!alive()) return
    this.#drop()
    this.#later()
  }
}
