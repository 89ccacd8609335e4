import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { backoff, FrameParser, Stream, type Connection } from '../../src/lib/sse'
import type { Event } from '../../src/lib/types'

describe('frames', () => {
  const text = ': hello\n\nid: 7\nevent: text\ndata: {"a":\ndata: 1}\n\nevent: ready\r\ndata:x\r\n\r\nretry: 3\n\n'
  const want = [
    { id: '7', event: 'text', data: '{"a":\n1}' },
    { id: '', event: 'ready', data: 'x' },
  ]
  it('come whole', () => expect(new FrameParser().push(text)).toEqual(want))
  it('come in any pieces', () => {
    for (let size = 1; size < 9; size++) {
      const parser = new FrameParser()
      const got = []
      for (let i = 0; i < text.length; i += size) got.push(...parser.push(text.slice(i, i + size)))
      expect(got).toEqual(want)
    }
  })
  it('need their empty line', () => expect(new FrameParser().push('data: x\n')).toEqual([]))
})

it('the wait doubles and has a limit', () => {
  expect([1, 2, 3, 4].map((n) => backoff(n, () => 0))).toEqual([500, 1000, 2000, 4000])
  expect(backoff(50, () => 1)).toBe(18_750)
})

/** A server that hands out one body after the other. */
function server() {
  const requests: Headers[] = []
  const bodies: { push: (s: string) => void; end: () => void; fail: () => void }[] = []
  let status = 200
  const fetch = (async (_url: string, init: RequestInit) => {
    requests.push(new Headers(init.headers))
    if (status !== 200) return new Response('', { status })
    let control!: ReadableStreamDefaultController<Uint8Array>
    const stream = new ReadableStream<Uint8Array>({ start: (c) => void (control = c) })
    init.signal?.addEventListener('abort', () => {
      try {
        control.error(new Error('aborted'))
      } catch {
        // Ended already.
      }
    })
    bodies.push({
      push: (s) => control.enqueue(new TextEncoder().encode(s)),
      end: () => control.close(),
      fail: () => control.error(new Error('broken')),
    })
    return new Response(stream, { status: 200 })
  }) as unknown as typeof globalThis.fetch
  return { requests, bodies, fetch, refuse: (s: number) => (status = s) }
}

describe('a stream', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())
  const settle = () => vi.advanceTimersByTimeAsync(1)
  const frame = (e: Event) => (e.id ? `id: ${e.id}\n` : '') + `event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`

  function open(s: ReturnType<typeof server>, refused: (status: number) => boolean = () => true) {
    const events: Event[] = []
    const states: Connection[] = []
    let cursor = 0
    const stream = new Stream({
      url: '/x',
      headers: () => ({ Authorization: 'Bearer T' }),
      cursor: () => cursor,
      onEvent: (e) => {
        events.push(e)
        if (e.id) cursor = e.id
      },
      onState: (state) => states.push(state),
      onRefused: refused,
      fetch: s.fetch,
      wait: (n) => n * 1000,
    })
    return { stream, events, states }
  }

  it('sends the token, and the cursor when it comes back', async () => {
    const s = server()
    const { events, states, stream } = open(s)
    await settle()
    expect(s.requests[0]!.get('authorization')).toBe('Bearer T')
    expect(s.requests[0]!.has('last-event-id')).toBe(false)
    s.bodies[0]!.push(frame({ id: 4, type: 'text', data: {} }) + frame({ type: 'ready', data: { id: 4 } }))
    await settle()
    expect(states.at(-1)).toEqual({ state: 'live', attempt: 0 })
    s.bodies[0]!.end()
    await settle()
    expect(states.at(-1)).toEqual({ state: 'connecting', attempt: 1 })
    await vi.advanceTimersByTimeAsync(1000)
    expect(s.requests[1]!.get('last-event-id')).toBe('4')
    s.bodies[1]!.push(frame({ type: 'ready', data: { id: 4 } }))
    await settle()
    expect(states.at(-1)).toEqual({ state: 'live', attempt: 0 })
    expect(events.map((e) => e.type)).toEqual(['text', 'ready', 'ready'])
    stream.close()
  })
  it('takes silence for a dead line, but not comments', async () => {
    const s = server()
    const { stream } = open(s)
    await settle()
    await vi.advanceTimersByTimeAsync(30_000)
    s.bodies[0]!.push(':\n\n')
    await vi.advanceTimersByTimeAsync(30_000)
    expect(s.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(12_000)
    expect(s.requests).toHaveLength(2)
    stream.close()
  })
  it('says offline after some tries, and goes on trying', async () => {
    const s = server()
    s.refuse(502)
    const { states, stream } = open(s)
    await vi.advanceTimersByTimeAsync(20_000)
    expect(states.at(-1)!.state).toBe('offline')
    s.refuse(200)
    await vi.advanceTimersByTimeAsync(20_000)
    s.bodies[0]!.push(frame({ type: 'ready', data: {} }))
    await settle()
    expect(states.at(-1)!.state).toBe('live')
    stream.close()
  })
  it('ends when it is refused for good', async () => {
    const s = server()
    s.refuse(404)
    const { states } = open(s, () => false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(s.requests).toHaveLength(1)
    expect(states.at(-1)!.state).toBe('closed')
  })
  it('is quiet after it was closed', async () => {
    const s = server()
    const { events, stream } = open(s)
    await settle()
    stream.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(events).toEqual([])
    expect(s.requests).toHaveLength(1)
  })
  it('passes over frames that are not JSON', async () => {
    const s = server()
    const { events, stream } = open(s)
    await settle()
    s.bodies[0]!.push('data: {oops\n\n' + frame({ id: 1, type: 'text', data: {} }))
    await settle()
    expect(events).toHaveLength(1)
    stream.close()
  })
})
