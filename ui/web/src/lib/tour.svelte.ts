// Plays a recorded job: events of a real log, read by the same reducer and shown by the same parts of the page as any chat.
// It asks the server nothing and changes nothing. The person answers its cards; each answer has a recording of its own.

import recording from '../../tour/recording.json'
import { app } from './app.svelte'
import { empty, reduce, type Chat } from './chat'
import { t } from './strings'
import type { Approval, ApprovalAnswer, Event } from './types'

interface Run {
  answers: boolean[]
  cards: Approval[]
  events: Event[]
}

const tape = recording as unknown as { prompt: string; runs: Run[] }

// How long a recorded event is looked at before the next one comes, in ms. What is not named is not seen, and takes no time.
const pause: Record<string, number> = { 'turn.start': 900, 'tool.call': 900, 'tool.result': 700, text: 500, thought: 500, 'turn.status': 300 }
const word = 45 // between two words of live text
const day = 86_400_000

/** The run that goes as these answers do, so far. */
export function runFor(answers: readonly boolean[]): Run {
  return tape.runs.find((r) => answers.every((yes, i) => r.answers[i] === yes)) ?? tape.runs[0]!
}

class Tour {
  prompt = tape.prompt
  chat = $state.raw<Chat>(empty)
  card = $state.raw<Approval | null>(null)
  state = $state<'idle' | 'playing' | 'waiting' | 'done'>('idle')

  #answers: boolean[] = []
  #given: ApprovalAnswer = {}
  #next = 0
  #play = 0 // counts plays, so that an old one stops
  #hurry = false

  play(): void {
    this.reset()
    this.state = 'playing'
    this.#go(this.#play)
  }

  /** Comes to the next question, or to the end, without waiting. */
  skip(): void {
    this.#hurry = true
  }

  reset(): void {
    this.#play++
    this.#answers = []
    this.#next = 0
    this.#hurry = false
    this.chat = { ...empty, ready: true }
    this.card = null
    this.state = 'idle'
  }

  /** Takes an answer to the card; gives the sentence to show on it where a recording has none for it. */
  async answer(answer: ApprovalAnswer): Promise<string> {
    if (answer.args) return t.tour.onlyYesNo
    this.#answers = [...this.#answers, answer.approved === true]
    this.#given = answer
    this.card = null
    this.state = 'playing'
    this.#hurry = false
    this.#go(this.#play)
    return ''
  }

  async #go(play: number): Promise<void> {
    const run = runFor(this.#answers)
    const still = matchMedia('(prefers-reduced-motion: reduce)').matches
    const wait = async (ms: number) => {
      const end = Date.now() + ms
      while (Date.now() < end && !this.#hurry && play === this.#play) await new Promise((r) => setTimeout(r, Math.min(50, ms)))
    }
    while (this.#next < run.events.length) {
      const event = this.#dated(run.events[this.#next]!)
      if ((event.type === 'text' || event.type === 'thought') && !still) {
        // Shown word by word, as it came; the logged text then takes the place of the live one.
        for (const piece of String(event.data.text).match(/\S+\s*/g) ?? []) {
          if (this.#hurry || play !== this.#play) break
          this.chat = reduce(this.chat, { type: event.type + '.delta', turn: event.turn, ts: now(), data: { text: piece } })
          await wait(word)
        }
      }
      if (play !== this.#play) return
      this.chat = reduce(this.chat, event)
      this.#next++
      if (event.type === 'turn.status' && event.data.status === 'waiting') {
        const card = run.cards[this.#answers.length]
        if (card) {
          this.#ask(card)
          return
        }
      }
      await wait(pause[event.type] ?? 0)
      if (play !== this.#play) return
    }
    this.state = 'done'
    app.polite = t.chat.turnDone
  }

  #ask(card: Approval): void {
    this.card = { ...card, created: now(), expires: new Date(Date.now() + day).toISOString() }
    this.state = 'waiting'
    this.#hurry = false
    app.urgent = t.card.opened(card.title)
  }

  /** A recorded event as of now, with what the person said in place of what was said then. */
  #dated(event: Event): Event {
    const at = { ...event, ts: now() }
    if (event.type === 'tool.approved') at.data = { ...event.data, by: 'page', scope: this.#given.scope ?? 'once' }
    if (event.type === 'tool.denied') at.data = { ...event.data, by: 'page', reason: this.#given.reason ?? '' }
    return at
  }
}

const now = () => new Date().toISOString()

export const tour = new Tour()
