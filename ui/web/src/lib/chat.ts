// What a chat looks like, as a pure function of its log: reduce(state, event). Reading the log twice, or from the middle
// after a broken line, comes to the same state.

import type {
  Attachment, Change, DeniedAs, Diff, Event, Json, Labels, Mode, Outcome, PlanStep, Problem, Scope, Status, Touch, Usage, View,
} from './types'

export type CallStatus = 'running' | 'waiting' | Outcome

export interface CallItem {
  t: 'call'
  id: string
  name: string
  title: string
  kind: string
  args: Json
  step: number
  status: CallStatus
  started: number // ms since the epoch; 0 where unknown
  progress: string
  text: string
  view: View | null
  ms: number
  cut: number
  label: string
  cached: string
  by: string
  reason: string
  scope: string // of the yes that let it run
  approval: string
}

export interface TextItem {
  t: 'text' | 'thought'
  text: string // logged
  live: string // deltas that no logged text has superseded yet
  sealed: boolean // the model request that wrote it is over
  from: number
  to: number
}

export interface NoteItem {
  t: 'note'
  kind: 'nudge' | 'guard' | 'compaction' | 'label' | 'error' | 'mode' | 'steer'
  what: string // the kind of nudge, problem or mode
  text: string
  open: boolean // a compaction that still runs
  before: number
  after: number
  kept: boolean
}

export interface ListItem {
  t: 'plan' | 'tasks'
  steps: PlanStep[]
}

export type Item = CallItem | TextItem | NoteItem | ListItem

export interface TurnView {
  id: string
  parent: string
  prompt: string
  attachments: Attachment[]
  status: Status
  mode: string
  model: string
  started: number
  ended: number
  items: Item[]
  preview: string // the name of a call that is being written; only live
  written: string // and its arguments so far, as the model writes them, or their end
  reason: string
  error: Problem | null
  usage: Usage | null
  denied: DeniedAs[]
  changes: Change[]
  undone: { id: string; files: number; left: number }[] // what a person took back of them
  outMS: number // time and tokens of the model's answers, for the speed
  outTokens: number
}

export interface OpenApproval {
  approval: string
  kind: string
  call: string
  turn: string
  title: string
  risk: string
  why: string
  touches: Touch[]
  scopes: Scope[]
  expires: string
}

export interface BudgetView {
  window: number
  used: number
  usable: number
  cached: number
}

export interface Chat {
  last: number // id of the last logged event that is in here
  gap: number // id of an event that came before its turn; 0 if none
  ready: boolean
  turns: TurnView[]
  open: OpenApproval[]
  plan: PlanStep[]
  todo: PlanStep[]
  labels: Labels
  mode: Mode | ''
  model: string
  window: number
  assumed: boolean
  toolMode: string
  budget: BudgetView | null
  cut: boolean // the engine left out a part of the last prompt
  queue: string[]
  killed: boolean | null
}

export const empty: Chat = Object.freeze({
  last: 0,
  gap: 0,
  ready: false,
  turns: [],
  open: [],
  plan: [],
  todo: [],
  labels: { tainted: false, private: false },
  mode: '',
  model: '',
  window: 0,
  assumed: false,
  toolMode: '',
  budget: null,
  cut: false,
  queue: [],
  killed: null,
}) as Chat

/** Which turn the person is waiting for, if any. */
export function active(chat: Chat): TurnView | null {
  for (let i = chat.turns.length - 1; i >= 0; i--) {
    const turn = chat.turns[i]!
    if (!turn.parent && (turn.status === 'running' || turn.status === 'waiting')) return turn
  }
  return null
}

/** What the files of a chat came to, over all its turns. */
export function changed(chat: Chat): { path: string; change: string; added: number; gone: number; diffs: Diff[] }[] {
  const files = new Map<string, { path: string; change: string; added: number; gone: number; diffs: Diff[] }>()
  for (const turn of chat.turns) {
    for (const item of turn.items) {
      if (item.t !== 'call' || item.status !== 'ok' || item.view?.shape !== 'diff') continue
      for (const diff of item.view.files ?? []) {
        const path = diff.to || diff.path
        const had = files.get(path)
        if (had) {
          had.added += diff.added
          had.gone += diff.gone
          had.diffs.push(diff)
          if (had.change !== 'create' || diff.change === 'delete') had.change = diff.change
        } else {
          files.set(path, { path, change: diff.change, added: diff.added, gone: diff.gone, diffs: [diff] })
        }
      }
    }
  }
  return [...files.values()]
}

export function reduceAll(state: Chat, events: readonly Event[]): Chat {
  for (const event of events) state = reduce(state, event)
  return state
}

export function reduce(state: Chat, event: Event): Chat {
  if (event.type === 'ready') return settle(state)
  const id = event.id ?? 0
  if (id > 0) {
    if (id <= state.last) return state // replayed; it is in here already
    if (id !== state.last + 1) return state.gap === id ? state : { ...state, gap: id } // something is missing
    return { ...apply(state, event), last: id, gap: 0 }
  }
  return apply(state, event)
}

/** Takes the log as it is: the next event may have the id that left a gap. */
export function skipGap(state: Chat): Chat {
  return state.gap ? { ...state, last: state.gap - 1, gap: 0 } : state
}

/** A replay is over. Live text from before it may have holes, and what it became has been replayed. */
function settle(state: Chat): Chat {
  let touched = false
  const turns = state.turns.map((turn) => {
    if (!turn.preview && !turn.items.some((i) => (i.t === 'text' || i.t === 'thought') && i.live)) return turn
    touched = true
    return { ...turn, preview: '', written: '', items: dropLive(turn.items, () => true) }
  })
  return { ...state, ready: true, turns: touched ? turns : state.turns }
}

const time = (ts: string | undefined): number => (ts ? Date.parse(ts) || 0 : 0)
const list = <T>(v: T[] | null | undefined): T[] => v ?? []

function newTurn(id: string, parent: string): TurnView {
  return {
    id, parent, prompt: '', attachments: [], status: 'running', mode: '', model: '', started: 0, ended: 0, items: [], preview: '', written: '', reason: '',
    error: null, usage: null, denied: [], changes: [], undone: [], outMS: 0, outTokens: 0,
  }
}

function withTurn(state: Chat, event: Event, change: (turn: TurnView) => TurnView): Chat {
  const id = event.turn ?? ''
  if (!id) return state
  const turns = state.turns.slice()
  for (let i = turns.length - 1; i >= 0; i--) {
    if (turns[i]!.id === id) {
      turns[i] = change(turns[i]!)
      return { ...state, turns }
    }
  }
  turns.push(change(newTurn(id, event.parent ?? '')))
  return { ...state, turns }
}

function withCall(state: Chat, event: Event, call: string, change: (item: CallItem) => CallItem): Chat {
  if (!call) return state
  return withTurn(state, event, (turn) => {
    const items = turn.items.slice()
    for (let i = items.length - 1; i >= 0; i--) {
      const item = items[i]!
      if (item.t === 'call' && item.id === call) {
        items[i] = change(item)
        return { ...turn, items }
      }
    }
    items.push(change(newCall(call)))
    return { ...turn, items }
  })
}

function newCall(id: string): CallItem {
  return {
    t: 'call', id, name: '', title: '', kind: 'other', args: null, step: 0, status: 'running', started: 0, progress: '', text: '',
    view: null, ms: 0, cut: 0, label: '', cached: '', by: '', reason: '', scope: '', approval: '',
  }
}

function dropLive(items: Item[], which: (item: TextItem) => boolean): Item[] {
  return items
    .map((i) => ((i.t === 'text' || i.t === 'thought') && i.live && which(i) ? { ...i, live: '' } : i))
    .filter((i) => !((i.t === 'text' || i.t === 'thought') && !i.text && !i.live))
}

/** No more text goes into the blocks there are; what comes now starts a new one. */
function seal(items: Item[], at: number): Item[] {
  if (!items.some((i) => (i.t === 'text' || i.t === 'thought') && !i.sealed)) return items
  return items.map((i) => ((i.t === 'text' || i.t === 'thought') && !i.sealed ? { ...i, sealed: true, to: at || i.to } : i))
}

function addText(turn: TurnView, kind: 'text' | 'thought', text: string, live: boolean, at: number): TurnView {
  if (!text && live) return turn
  let items = turn.items.slice()
  let index = -1
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i]!
    if (item.t !== kind) {
      if (live) break // a delta goes on with what stands last
      continue
    }
    if (item.live || (i === items.length - 1 && !item.sealed)) index = i
    break
  }
  const item = index >= 0 ? (items[index] as TextItem) : null
  if (item) {
    items[index] = live
      ? { ...item, live: item.live + text, to: at || item.to }
      : { ...item, text: item.text + text, live: '', to: at || item.to }
  } else if (text) {
    // A thought that is followed by text, or the other way round, has come to its end.
    items = items.map((i) => (i.t === 'thought' && kind === 'text' && !i.sealed && !i.live ? { ...i, sealed: true, to: at || i.to } : i))
    items.push({ t: kind, text: live ? '' : text, live: live ? text : '', sealed: false, from: at, to: at })
  }
  return { ...turn, items, preview: '', written: '' }
}

function note(turn: TurnView, n: Partial<NoteItem> & { kind: NoteItem['kind'] }, at: number): TurnView {
  return {
    ...turn,
    items: [...seal(turn.items, at), { t: 'note', what: '', text: '', open: false, before: 0, after: 0, kept: true, ...n }],
  }
}

/** Puts a plan or list where its first version stood in this turn. */
function listed(turn: TurnView, kind: 'plan' | 'tasks', steps: PlanStep[]): TurnView {
  const items = turn.items.slice()
  const at = items.findIndex((i) => i.t === kind)
  if (at >= 0) items[at] = { t: kind, steps }
  else items.push({ t: kind, steps })
  return { ...turn, items }
}

const closedAs: Record<string, CallStatus> = {
  'tool.approved': 'running',
  'tool.denied': 'denied',
  'tool.expired': 'expired',
  'tool.cancelled': 'cancelled',
}

function apply(state: Chat, event: Event): Chat {
  const d = event.data ?? {}
  const at = time(event.ts)
  switch (event.type) {
    case 'turn.start':
      state = withTurn(state, event, (turn) => ({
        ...turn,
        prompt: d.prompt ?? turn.prompt,
        attachments: list(d.attachments),
        mode: d.mode ?? '',
        model: d.model ?? '',
        status: 'running',
        started: turn.started || at,
      }))
      return {
        ...state,
        cut: event.parent ? state.cut : false,
        model: event.parent ? state.model : (d.model ?? state.model),
        queue: state.queue.filter((id) => id !== event.turn),
      }

    case 'turn.status':
      return withTurn(state, event, (turn) => ({ ...turn, status: d.status }))

    case 'turn.end':
      state = withTurn(state, event, (turn) => ended(turn, d, at))
      return { ...state, open: state.open.filter((o) => o.turn !== event.turn) }

    case 'undo': {
      // An undo of an undo belongs to the turn that it leads back to.
      const of = event.turn || state.turns.find((turn) => turn.undone.some((u) => u.id === d.turn))?.id
      if (!of) return state
      return withTurn(state, { ...event, turn: of }, (turn) => ({
        ...turn,
        undone: [...turn.undone, { id: d.id ?? '', files: list(d.files).length, left: d.left ?? 0 }],
      }))
    }

    case 'prep':
      if (event.parent) return state
      return { ...state, window: d.window ?? 0, assumed: !!d.assumed, toolMode: d.mode ?? '' }

    case 'text':
      return withTurn(state, event, (turn) => addText(turn, 'text', d.text ?? '', false, at))
    case 'thought':
      return withTurn(state, event, (turn) => addText(turn, 'thought', d.text ?? '', false, at))
    case 'text.delta':
      return withTurn(state, event, (turn) => addText(turn, 'text', d.text ?? '', true, at))
    case 'thought.delta':
      return withTurn(state, event, (turn) => addText(turn, 'thought', d.text ?? '', true, at))
    case 'tool.preview':
      return withTurn(state, event, (turn) => ({ ...turn, preview: d.name ?? '', written: d.args ?? '' }))

    case 'tool.call':
      return withCall(
        withTurn(state, event, (turn) => ({ ...turn, preview: '', written: '', items: seal(turn.items, at) })),
        event,
        d.call,
        (item) => ({
          ...item,
          name: d.name ?? '',
          title: d.title || d.name || '',
          kind: d.kind || 'other',
          args: d.args ?? null,
          step: d.step ?? 0,
          started: at,
        }),
      )

    case 'tool.progress':
      return withCall(state, event, d.call, (item) =>
        item.status === 'running' ? { ...item, progress: tail(item.progress + (d.text ?? '')) } : item,
      )

    case 'tool.result':
      return withCall(state, event, d.call, (item) => ({
        ...item,
        name: item.name || d.name || '',
        title: item.title || d.name || '',
        status: d.outcome,
        text: d.text ?? '',
        view: d.view ?? null,
        ms: d.ms ?? 0,
        cut: d.cut ?? 0,
        label: d.label ?? '',
        cached: d.cached ?? '',
        by: d.by || item.by,
        progress: '',
      }))

    case 'tool.approval_needed':
      state = withCall(state, event, d.call, (item) => ({ ...item, status: 'waiting', approval: d.approval, title: item.title || d.title }))
      return {
        ...state,
        open: [
          ...state.open.filter((o) => o.approval !== d.approval),
          {
            approval: d.approval,
            kind: d.kind ?? 'call',
            call: d.call ?? '',
            turn: event.turn ?? '',
            title: d.title ?? '',
            risk: d.risk ?? '',
            why: d.why ?? '',
            touches: list(d.touches),
            scopes: list(d.scopes),
            expires: d.expires ?? '',
          },
        ],
      }

    case 'tool.approved':
    case 'tool.denied':
    case 'tool.expired':
    case 'tool.cancelled':
      if (d.call && event.turn) {
        state = withCall(state, event, d.call, (item) =>
          item.status === 'waiting' || item.status === 'running'
            ? {
                ...item,
                status: closedAs[event.type]!,
                by: event.type === 'tool.approved' ? item.by : (d.by ?? ''),
                reason: d.reason ?? '',
                scope: d.scope ?? '',
                started: event.type === 'tool.approved' ? at : item.started,
              }
            : item,
        )
      }
      return { ...state, open: state.open.filter((o) => o.approval !== d.approval) }

    case 'step':
      return withTurn(state, event, (turn) => ({ ...turn, preview: '', written: '', items: seal(dropLive(turn.items, () => true), at) }))

    case 'plan.update':
      return { ...withTurn(state, event, (turn) => listed(turn, 'plan', list(d.steps))), plan: list(d.steps) }
    case 'todo.update':
      return { ...withTurn(state, event, (turn) => listed(turn, 'tasks', list(d.items))), todo: list(d.items) }

    case 'queue.changed':
      return { ...state, queue: list(d.turns) }

    case 'steer':
      return withTurn(state, event, (turn) => note(turn, { kind: 'steer', text: d.text ?? '' }, at))
    case 'nudge':
      // The engine leaves out what does not fit. It says so once in a turn; the meter warns until another turn goes without.
      if (d.kind === 'window' && !event.parent) state = { ...state, cut: true }
      return withTurn(state, event, (turn) => note(turn, { kind: 'nudge', what: d.kind ?? '', text: d.text ?? '' }, at))
    case 'loop.guard':
      return withTurn(state, event, (turn) => note(turn, { kind: 'guard', text: d.reason ?? '' }, at))
    case 'error':
      return withTurn(state, event, (turn) => note(turn, { kind: 'error', what: d.kind ?? '', text: d.text ?? '' }, at))
    case 'label':
      state = { ...state, labels: d.labels ?? state.labels }
      return withTurn(state, event, (turn) => note(turn, { kind: 'label', what: d.labels?.tainted ? 'tainted' : 'private', text: d.why ?? '' }, at))
    case 'compaction.start':
      return withTurn(state, event, (turn) => note(turn, { kind: 'compaction', open: true, before: d.chars ?? 0 }, at))
    case 'compaction.done':
      return withTurn(state, event, (turn) => {
        const items = turn.items.slice()
        for (let i = items.length - 1; i >= 0; i--) {
          const item = items[i]!
          if (item.t === 'note' && item.kind === 'compaction' && item.open) {
            items[i] = { ...item, open: false, before: d.before ?? 0, after: d.after ?? 0, kept: d.kept !== false, text: d.summary ?? '' }
            return { ...turn, items }
          }
        }
        return note(turn, { kind: 'compaction', before: d.before ?? 0, after: d.after ?? 0, kept: d.kept !== false, text: d.summary ?? '' }, at)
      })

    case 'mode':
      state = { ...state, mode: d.mode ?? state.mode }
      return event.turn ? withTurn(state, event, (turn) => note(turn, { kind: 'mode', what: d.mode ?? '', text: d.by ?? '' }, at)) : state

    case 'budget':
      if (event.parent) return state
      return { ...state, budget: { window: d.window ?? 0, used: d.used ?? 0, usable: d.usable ?? 0, cached: d.cached ?? 0 } }

    case 'metrics':
      return withTurn(state, event, (turn) => ({
        ...turn,
        outMS: turn.outMS + Math.max(0, (d.total_ms ?? 0) - (d.first_ms ?? 0)),
        outTokens: turn.outTokens + (d.completion ?? 0),
      }))

    case 'killed':
      return { ...state, killed: !!d.on }
  }
  return state // an event of a later version
}

/** What a running call has printed, as far back as anybody wants to scroll. */
function tail(text: string): string {
  return text.length > 20_000 ? text.slice(-16_000) : text
}

function ended(turn: TurnView, d: any, at: number): TurnView {
  let items = seal(dropLive(turn.items, () => true), at)
  items = items.map((i) => {
    if (i.t === 'call' && (i.status === 'running' || i.status === 'waiting')) {
      return { ...i, status: 'cancelled' as const, progress: '' }
    }
    if (i.t === 'note' && i.open) return { ...i, open: false, kept: false }
    return i
  })
  const answer: string = d.answer ?? ''
  if (answer.trim()) {
    // The answer is the text of the last step. Where the log has it as text already, it is not shown twice.
    let last = -1
    let lastCall = -1
    items.forEach((item, n) => {
      if (item.t === 'text') last = n
      if (item.t === 'call') lastCall = n
    })
    // An event holds the beginning of a long one.
    const begins = answer.endsWith('…') ? answer.slice(0, -1).trim() : answer.trim()
    const shown = items.some((i) => i.t === 'text' && (i.text.trim() === answer.trim() || (begins !== answer.trim() && i.text.trim().startsWith(begins))))
    if (!shown) {
      const block: TextItem = { t: 'text', text: answer, live: '', sealed: true, from: at, to: at }
      if (last > lastCall) items[last] = block
      else items.push(block)
    }
  }
  return {
    ...turn,
    items,
    preview: '',
    written: '',
    status: d.status ?? 'done',
    reason: d.reason ?? '',
    error: d.error ?? null,
    usage: d.usage ?? null,
    denied: list(d.denied),
    changes: list(d.changes),
    ended: at,
  }
}
