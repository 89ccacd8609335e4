import { describe, expect, it } from 'vitest'
import { active, changed, empty, reduce, reduceAll, skipGap, type CallItem, type Chat, type Item, type NoteItem, type TextItem } from '../../src/lib/chat'
import type { Event } from '../../src/lib/types'
import { live, log, logged } from './fixtures/turn'

const turn = (c: Chat) => c.turns[c.turns.length - 1]!
const items = (c: Chat): Item[] => turn(c).items
const texts = (c: Chat) => items(c).filter((i): i is TextItem => i.t === 'text').map((i) => i.text + i.live)
const calls = (c: Chat) => items(c).filter((i): i is CallItem => i.t === 'call')
const start = reduceAll(empty, log.slice(0, 3))

function freeze<T>(v: T): T {
  if (v && typeof v === 'object' && !Object.isFrozen(v)) {
    Object.freeze(v)
    Object.values(v).forEach(freeze)
  }
  return v
}

describe('a whole turn', () => {
  const chat = reduceAll(empty, log)

  it('ends with prompt, steps and answer in order', () => {
    expect(turn(chat)).toMatchObject({ prompt: 'Make the menu sticky', status: 'done', model: 'demo-8b' })
    expect(items(chat).map((i) => i.t)).toEqual(['thought', 'text', 'call', 'plan', 'call', 'text'])
    expect(texts(chat)).toEqual(['Looking at the styles.', 'The menu is sticky now.'])
    expect(calls(chat).map((c) => [c.title, c.status])).toEqual([['Read nav.css', 'ok'], ['Edit nav.css', 'ok']])
    expect(calls(chat)[1]!.scope).toBe('once')
  })
  it('keeps window, tool mode and budget', () => {
    expect(chat).toMatchObject({ window: 8192, assumed: true, toolMode: 'native', budget: { used: 2100, usable: 6144 }, last: log.length })
  })
  it('has the plan once, in its last state', () => {
    expect(items(chat).filter((i) => i.t === 'plan')).toHaveLength(1)
    expect(chat.plan.map((s) => s.state)).toEqual(['done', 'done'])
  })
  it('knows how long a thought took', () => {
    const thought = items(chat)[0] as TextItem
    expect(thought.to - thought.from).toBe(2000)
    expect(thought.sealed).toBe(true)
  })
  it('sums up the files', () => {
    expect(changed(chat)).toMatchObject([{ path: 'nav.css', added: 4, gone: 1 }])
  })
  it('has nothing open and nobody waiting', () => {
    expect(chat.open).toEqual([])
    expect(active(chat)).toBeNull()
  })
  it('never changes a state it was given', () => {
    let state = freeze(empty)
    for (const event of [...log.map(freeze), live('text.delta', { text: 'x' })]) state = freeze(reduce(state, event))
    expect(state.last).toBe(log.length)
  })
})

it('keeps the files that came with a prompt', () => {
  const a = { id: 'f_1', session: 's_1', name: 'list.txt', type: 'text/plain', size: 8, chars: 8, created: '' }
  const first = log[0]!
  const chat = reduce(empty, { ...first, data: { ...first.data, attachments: [a] } })
  expect(turn(chat).attachments).toEqual([a])
  expect(turn(reduce(empty, first)).attachments).toEqual([])
})

describe('replay', () => {
  it('is idempotent', () => {
    const once = reduceAll(empty, log)
    expect(reduceAll(once, log)).toEqual(once)
    expect(reduceAll(reduceAll(empty, log.slice(0, 9)), log)).toEqual(once)
  })
  it('gives the same from any point on', () => {
    const whole = reduceAll(empty, log)
    for (let cut = 0; cut <= log.length; cut++) {
      expect(reduceAll(reduceAll(empty, log.slice(0, cut)), [...log.slice(Math.max(0, cut - 3))])).toEqual(whole)
    }
  })
  it('gives the same with live events between', () => {
    const whole = reduceAll(empty, log)
    const mixed: Event[] = []
    for (const event of log) {
      if (event.type === 'text') mixed.push(live('text.delta', { text: event.data.text.slice(0, 4) }), live('text.delta', { text: event.data.text.slice(4) }))
      if (event.type === 'thought') mixed.push(live('thought.delta', event.data))
      if (event.type === 'tool.call') mixed.push(live('tool.preview', { name: 'x' }))
      if (event.type === 'tool.result') mixed.push(live('tool.progress', { call: event.data.call, text: 'half' }))
      mixed.push(event)
    }
    const strip = (c: Chat) => JSON.parse(JSON.stringify(c, (k, v) => (k === 'from' || k === 'to' ? undefined : v)))
    expect(strip(reduceAll(empty, mixed))).toEqual(strip(whole))
  })
})

describe('live text', () => {
  it('is superseded by logged text', () => {
    let chat = reduceAll(start, [live('text.delta', { text: 'Hel' }), live('text.delta', { text: 'lo wor' })])
    expect(texts(chat)).toEqual(['Hello wor'])
    chat = reduce(chat, logged(4, 'text', { text: 'Hello world. ' }))
    expect(texts(chat)).toEqual(['Hello world. '])
    chat = reduceAll(chat, [live('text.delta', { text: 'And' }), logged(5, 'text', { text: 'And on.' })])
    expect(texts(chat)).toEqual(['Hello world. And on.'])
  })
  it('is superseded kind by kind', () => {
    let chat = reduceAll(start, [live('thought.delta', { text: 'hm' }), live('text.delta', { text: 'He' })])
    chat = reduceAll(chat, [logged(4, 'thought', { text: 'hmm' }), logged(5, 'text', { text: 'Hello' })])
    expect(items(chat).map((i) => [i.t, (i as TextItem).text, (i as TextItem).live])).toEqual([['thought', 'hmm', ''], ['text', 'Hello', '']])
  })
  it('that nothing superseded goes when the step is over', () => {
    const chat = reduceAll(start, [live('text.delta', { text: '```to' }), logged(4, 'tool.call', { call: 'c', name: 'n', title: 'T', kind: 'read', step: 1 }), logged(5, 'step', { n: 1, kind: 'tool', text: '' })])
    expect(items(chat).map((i) => i.t)).toEqual(['call'])
  })
  it('starts a new block after a step', () => {
    const chat = reduceAll(start, [logged(4, 'text', { text: 'one' }), logged(5, 'step', { n: 1, kind: 'tool', text: '' }), logged(6, 'text', { text: 'two' })])
    expect(texts(chat)).toEqual(['one', 'two'])
  })
  it('shows what is being written until the call is there', () => {
    let chat = reduce(start, live('tool.preview', { name: 'toy_edit' }))
    expect(turn(chat).preview).toBe('toy_edit')
    chat = reduceAll(chat, [live('tool.preview', { name: 'toy_edit', args: '{"pa' }), live('tool.preview', { name: 'toy_edit', args: '{"path": "a"}' })])
    expect(turn(chat).written).toBe('{"path": "a"}')
    expect(texts(chat)).toEqual([])
    chat = reduce(chat, live('tool.preview', { name: 'toy_read' }))
    expect([turn(chat).preview, turn(chat).written]).toEqual(['toy_read', ''])
    chat = reduce(chat, live('tool.preview', { name: 'toy_edit', args: '{' }))
    expect(turn(reduce(chat, live('text.delta', { text: 'No.' }))).written).toBe('')
    chat = reduce(chat, logged(4, 'tool.call', { call: 'c', name: 'toy_edit', title: 'Edit', kind: 'edit', step: 1 }))
    expect([turn(chat).preview, turn(chat).written]).toEqual(['', ''])
  })
})

describe('a reconnect in the middle', () => {
  it('drops live text that may have holes, and goes on from the log', () => {
    let chat = reduceAll(start, [logged(4, 'text', { text: 'Hello ' }), live('text.delta', { text: 'wor' })])
    // The line broke here; "ld, how" was logged meanwhile, and its deltas were missed.
    chat = reduceAll(chat, [logged(3, 'budget', {}), logged(4, 'text', { text: 'Hello ' }), logged(5, 'text', { text: 'world, how' })])
    chat = reduce(chat, { type: 'ready', data: { id: 5 } })
    expect(texts(chat)).toEqual(['Hello world, how'])
    chat = reduceAll(chat, [live('text.delta', { text: ' are' }), logged(6, 'text', { text: ' are you' })])
    expect(texts(chat)).toEqual(['Hello world, how are you'])
    expect(chat.ready).toBe(true)
  })
  it('drops live text at ready even if nothing was logged meanwhile', () => {
    let chat = reduceAll(start, [live('text.delta', { text: 'wor' }), live('tool.preview', { name: 'x' }), { type: 'ready', data: { id: 3 } }])
    expect(items(chat)).toEqual([])
    expect(turn(chat).preview).toBe('')
  })
})

describe('ids', () => {
  it('that are in already change nothing', () => {
    const chat = reduceAll(start, [logged(4, 'text', { text: 'a' })])
    expect(reduce(chat, logged(2, 'text', { text: 'old' }))).toBe(chat)
    expect(reduce(chat, logged(4, 'text', { text: 'again' }))).toBe(chat)
  })
  it('that come before their turn are not taken, and the gap is known', () => {
    const chat = reduce(start, logged(6, 'text', { text: 'too early' }))
    expect(chat).toMatchObject({ last: 3, gap: 6 })
    expect(items(chat)).toEqual([])
    const mended = reduceAll(chat, [logged(4, 'text', { text: 'a' }), logged(5, 'text', { text: 'b' }), logged(6, 'text', { text: 'c' })])
    expect(mended).toMatchObject({ last: 6, gap: 0 })
    expect(texts(mended)).toEqual(['abc'])
  })
  it('can be gone on from after a gap that the server has, too', () => {
    const chat = reduce(skipGap(reduce(start, logged(6, 'text', { text: 'c' }))), logged(6, 'text', { text: 'c' }))
    expect(chat).toMatchObject({ last: 6, gap: 0 })
  })
})

describe('approvals', () => {
  const asked = reduceAll(empty, log.slice(0, 14))

  it('open and make call and turn wait', () => {
    expect(asked.open.map((o) => o.approval)).toEqual(['a_1'])
    expect(calls(asked)[1]!.status).toBe('waiting')
    expect(active(asked)?.status).toBe('waiting')
  })
  for (const [type, status] of [['tool.denied', 'denied'], ['tool.expired', 'expired'], ['tool.cancelled', 'cancelled'], ['tool.approved', 'running']] as const) {
    it(`close as ${status}`, () => {
      const chat = reduce(asked, logged(15, type, { approval: 'a_1', call: 'c_2', state: '', by: 'cli', reason: 'no' }))
      expect(chat.open).toEqual([])
      expect(calls(chat)[1]!.status).toBe(status)
    })
  }
  it('that were denied say by whom and why', () => {
    const chat = reduceAll(asked, [
      logged(15, 'tool.denied', { approval: 'a_1', call: 'c_2', state: 'denied', by: 'cli', reason: 'not now' }),
      logged(16, 'tool.result', { call: 'c_2', name: 'toy_edit', outcome: 'denied', text: '', view: { shape: 'text' }, ms: 0, label: 'ours' }),
    ])
    expect(calls(chat)[1]).toMatchObject({ status: 'denied', by: 'cli', reason: 'not now' })
  })
  it('of the turn are gone when it ends', () => {
    const chat = reduce(asked, logged(15, 'turn.end', { status: 'stopped', answer: '', reason: 'stopped', usage: null, denied: null, changes: null }))
    expect(chat.open).toEqual([])
    expect(calls(chat)[1]!.status).toBe('cancelled')
    expect(turn(chat)).toMatchObject({ status: 'stopped', reason: 'stopped', denied: [], changes: [] })
  })
})

describe('small things', () => {
  it('progress is shown until the result', () => {
    let chat = reduceAll(start, [logged(4, 'tool.call', { call: 'c', name: 'n', title: 'Run', kind: 'execute', step: 1 }), live('tool.progress', { call: 'c', text: 'a\n' }), live('tool.progress', { call: 'c', text: 'b\n' })])
    expect(calls(chat)[0]!.progress).toBe('a\nb\n')
    chat = reduce(chat, logged(5, 'tool.result', { call: 'c', name: 'n', outcome: 'unknown', text: '', view: { shape: 'terminal', text: 'a\nb\n', exit: 0 }, ms: 3, label: 'ours' }))
    expect(calls(chat)[0]).toMatchObject({ progress: '', status: 'unknown' })
  })
  it('a compaction is one note', () => {
    const chat = reduceAll(start, [logged(4, 'compaction.start', { chars: 9 }), logged(5, 'compaction.done', { before: 9, after: 4, kept: true })])
    expect(items(chat)).toHaveLength(1)
    expect(items(chat)[0]).toMatchObject({ t: 'note', kind: 'compaction', open: false, before: 9, after: 4 } satisfies Partial<NoteItem>)
  })
  it('labels, mode, queue and kill switch are kept', () => {
    const chat = reduceAll(start, [
      logged(4, 'label', { labels: { tainted: true, private: false }, why: 'a page' }),
      logged(5, 'mode', { mode: 'plan', by: 'page' }, { turn: undefined }),
      logged(6, 'queue.changed', { turns: ['t_2', 't_3'] }, { turn: undefined }),
      logged(7, 'killed', { on: true, by: 'cli' }, { turn: undefined }),
    ])
    expect(chat).toMatchObject({ labels: { tainted: true }, mode: 'plan', queue: ['t_2', 't_3'], killed: true })
    expect(reduce(chat, logged(8, 'turn.start', { prompt: 'next' }, { turn: 't_2' })).queue).toEqual(['t_3'])
  })
  it('an answer that the log has not as text is shown', () => {
    const chat = reduceAll(start, [logged(4, 'turn.end', { status: 'done', answer: 'Forty-two.', usage: null })])
    expect(texts(chat)).toEqual(['Forty-two.'])
  })
  it('an answer that is the last text, but for blanks, is shown once', () => {
    const chat = reduceAll(start, [logged(4, 'text', { text: '\nForty-two.\n' }), logged(5, 'turn.end', { status: 'done', answer: 'Forty-two.', usage: null })])
    expect(texts(chat)).toEqual(['\nForty-two.\n'])
  })
  it('a turn that carries on after a restart is not there twice', () => {
    const chat = reduceAll(start, [logged(4, 'turn.start', { prompt: 'Make the menu sticky', model: 'demo-8b' })])
    expect(chat.turns).toHaveLength(1)
  })
  it('the turn of a sub-agent does not count as the one that runs', () => {
    const chat = reduceAll(empty, [logged(1, 'turn.start', { prompt: 'child' }, { turn: 't_9', parent: 't_1' })])
    expect(active(chat)).toBeNull()
    expect(turn(chat).parent).toBe('t_1')
  })
  it('an event of a later version is passed over, its id is kept', () => {
    const chat = reduce(start, logged(4, 'hologram', { x: 1 }))
    expect(chat).toEqual({ ...start, last: 4 })
  })
  it('lists that are null are empty', () => {
    const chat = reduceAll(start, [logged(4, 'plan.update', { steps: null }), logged(5, 'queue.changed', { turns: null })])
    expect(chat).toMatchObject({ plan: [], queue: [] })
  })
})

describe('an engine that cuts prompts', () => {
  it('is warned of until a turn goes without', () => {
    const end = log.length
    const cut = reduceAll(empty, [...log, logged(end + 1, 'nudge', { kind: 'window', text: 'The engine cuts.' })])
    expect([reduceAll(empty, log).cut, cut.cut]).toEqual([false, true])
    expect(reduceAll(cut, [logged(end + 2, 'turn.start', { prompt: 'x' }, { turn: 't_sub', parent: 't_1' })]).cut).toBe(true)
    expect(reduceAll(cut, [logged(end + 2, 'turn.start', { prompt: 'x' }, { turn: 't_2' })]).cut).toBe(false)
  })
})

describe('an undo', () => {
  it('stands with the turn that it leads back to, as does the undo of an undo', () => {
    const done = reduceAll(start, [logged(4, 'turn.end', { status: 'done', answer: 'x', usage: null, changes: [{ path: 'a', change: 'edit', added: 1, gone: 1, lost: 'too large' }] })])
    const id = turn(done).id
    const undo = (n: number, of: string, data: unknown): Event => ({ ...logged(n, 'undo', data), turn: of })
    const chat = reduceAll(done, [
      undo(5, id, { id: 'u_1', turn: id, by: 'page', files: [{ path: 'a', change: 'edit', added: 1, gone: 1 }], left: 2 }),
      undo(6, '', { id: 'u_2', turn: 'u_1', by: 'cli', files: null }),
      undo(7, '', { id: 'u_3', turn: 'u_unknown', by: 'cli', files: [] }),
    ])
    expect(turn(chat).undone).toEqual([{ id: 'u_1', files: 1, left: 2 }, { id: 'u_2', files: 0, left: 0 }])
    expect(turn(chat).changes[0]!.lost).toBe('too large')
    expect(chat.last).toBe(7)
  })
})
