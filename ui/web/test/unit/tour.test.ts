/// <reference types="node" />
// The recording that the page plays: made by TestTour of cmd/jackline from the real program, read by the reducer of any chat.

import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { empty, reduceAll, type CallItem } from '../../src/lib/chat'
import recording from '../../tour/recording.json'
import type { Event } from '../../src/lib/types'

const runs = recording.runs as unknown as { answers: boolean[]; cards: { id: string; call: string }[]; events: Event[] }[]

describe('the recorded job', () => {
  it('has one run for each way of answering', () => expect(runs.map((r) => r.answers)).toEqual([[true, true], [true, false], [false]]))

  it('holds only events that the log has', () => {
    const log = readFileSync(new URL('../../../../event.go', import.meta.url), 'utf8')
    for (const r of runs) for (const e of r.events) expect(log, e.type).toContain(`"${e.type}"`)
  })

  it('is read to its end, without a gap', () => {
    for (const r of runs) {
      const chat = reduceAll(empty, r.events)
      expect(chat.gap).toBe(0)
      expect(chat.last).toBe(r.events.length)
      expect(chat.open).toEqual([])
      expect(chat.turns).toHaveLength(1)
      const turn = chat.turns[0]!
      expect([turn.status, turn.prompt]).toEqual(['done', recording.prompt])
      const calls = turn.items.filter((i): i is CallItem => i.t === 'call')
      expect(calls.map((c) => c.kind).slice(0, 3)).toEqual(['read', 'read', 'edit'])
      r.cards.forEach((card, i) => expect(calls.find((c) => c.id === card.call)?.status).toBe(r.answers[i] ? 'ok' : 'denied'))
    }
  })

  it('stops for each card, and the runs are the same up to the answer in which they differ', () => {
    const waits = (r: (typeof runs)[number]) => r.events.flatMap((e, i) => (e.type === 'turn.status' && e.data.status === 'waiting' ? [i] : []))
    for (const r of runs) expect(waits(r)).toHaveLength(r.cards.length)
    const [yes, no, never] = runs as [(typeof runs)[number], (typeof runs)[number], (typeof runs)[number]]
    expect(no.events.slice(0, waits(no)[1]! + 1)).toEqual(yes.events.slice(0, waits(yes)[1]! + 1))
    expect(never.events.slice(0, waits(never)[0]! + 1)).toEqual(yes.events.slice(0, waits(yes)[0]! + 1))
  })

  it('names no place of the machine that it was made on', () => expect(JSON.stringify(recording)).not.toMatch(/\/(tmp|root|work|var)\//))
})
