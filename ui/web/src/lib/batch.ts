// Several cards answered together: which belong together, what of them is shown, and which answers may be sent at once.

import type { Approval, ApprovalAnswer, View } from './types'

const textLimit = 12
const diffLimit = 28
const rowLimit = 12
const mostText = 4000

/** Everything that is not plainly less has high risk. */
export const isHigh = (card: Approval): boolean => card.risk !== 'medium' && card.risk !== 'low'

/** What a card shows besides its arguments, or null. */
export function viewOf(card: Approval): View | null {
  const v = card.view
  return !v || (!v.text && !v.files?.length && !v.rows?.length) ? null : v
}

/** How many lines of a card's view are shown at first. */
export function viewLimit(card: Approval): number {
  const shape = viewOf(card)?.shape
  return shape === 'diff' ? diffLimit : shape === 'table' || shape === 'list' ? rowLimit : textLimit
}

/** How many lines a card's view has. */
export function viewLines(card: Approval): number {
  const v = viewOf(card)
  if (!v) return 0
  if (v.shape === 'diff') return (v.files ?? []).reduce((n, f) => n + (f.patch ? f.patch.split('\n').length : 0), 0)
  if (v.shape === 'table' || v.shape === 'list') return v.rows?.length ?? 0
  return (v.text ?? '').split('\n').length
}

/** Whether something of a card is not shown at first. It must be before it is allowed. */
export const cardCut = (card: Approval): boolean => viewLines(card) > viewLimit(card) || (viewOf(card)?.text?.length ?? 0) > mostText

/** The cards of the step that a card belongs to, where they can be answered together: calls of one turn and step, two at least. */
export function stepOf(cards: Approval[], card: Approval | undefined): Approval[] {
  if (!card || card.kind !== 'call' || !card.turn) return []
  const same = cards.filter((c) => c.kind === 'call' && c.turn === card.turn && c.step === card.step)
  return same.length > 1 ? same : []
}

export type RowAnswer = ApprovalAnswer & { id: string }

/** The answers to send for what was said row by row. High risk is never allowed among others. */
export function batchAnswers(cards: Approval[], said: Record<string, boolean>): RowAnswer[] {
  return cards.filter((c) => said[c.id] === false || (said[c.id] === true && !isHigh(c))).map((c) => (said[c.id] ? { id: c.id, approved: true, scope: 'once' } : { id: c.id, approved: false }))
}
