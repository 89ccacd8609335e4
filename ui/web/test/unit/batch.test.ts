import { describe, expect, it } from 'vitest'
import { batchAnswers, cardCut, isHigh, stepOf, viewLines } from '../../src/lib/batch'
import type { Approval } from '../../src/lib/types'

const card = (id: string, more: Partial<Approval> = {}): Approval =>
  ({ id, kind: 'call', turn: 't_1', step: 2, risk: 'low', args: {}, view: { shape: 'text', text: 'x' }, title: id, ...more }) as Approval

describe('the cards of a step', () => {
  it('are the calls of one turn and step', () => {
    const all = [card('a'), card('b'), card('c', { step: 3 }), card('d', { turn: 't_2' }), card('e', { kind: 'question' }), card('f', { turn: '' })]
    expect(stepOf(all, all[0]).map((c) => c.id)).toEqual(['a', 'b'])
    for (const k of [2, 3, 4, 5]) expect(stepOf(all, all[k])).toEqual([])
    expect(stepOf([], undefined)).toEqual([])
  })
  it('are answered as was said, high risk never among them', () => {
    const all = [card('a'), card('b', { risk: 'high' }), card('c', { risk: 'medium' }), card('d'), card('e', { risk: '' })]
    expect(batchAnswers(all, { a: true, b: true, c: false, e: true })).toEqual([
      { id: 'a', approved: true, scope: 'once' },
      { id: 'c', approved: false },
    ])
    expect(batchAnswers(all, { b: false })).toEqual([{ id: 'b', approved: false }])
    expect(all.map(isHigh)).toEqual([false, true, false, false, true])
  })
  it('are cut where not all is shown', () => {
    const lines = (n: number) => Array.from({ length: n }, (_, i) => String(i)).join('\n')
    expect(cardCut(card('a', { view: { shape: 'terminal', text: lines(12) } }))).toBe(false)
    expect(cardCut(card('a', { view: { shape: 'terminal', text: lines(13) } }))).toBe(true)
    expect(cardCut(card('a', { view: { shape: 'text', text: 'x'.repeat(4001) } }))).toBe(true)
    expect(viewLines(card('a', { view: { shape: 'diff', files: [{ path: 'a', change: 'edit', added: 1, gone: 1, patch: '-a\n+b\n' }] } }))).toBe(3)
    expect(viewLines(card('a', { view: { shape: 'text' } }))).toBe(0)
  })
})
