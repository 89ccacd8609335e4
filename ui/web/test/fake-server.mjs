// A stand-in for the server: it serves the built page and plays the API with scripted turns, from memory. For
// development and for the browser tests. Its tools are made up: the page must know none by name.
//
//   node test/fake-server.mjs [port]

import { createServer } from 'node:http'
import { readFile } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { modelRoutes, usual } from './fake-models.mjs'

const dist = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../dist')

export const csp =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; font-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

const types = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.md': 'text/plain; charset=utf-8' }

class Problem extends Error {
  constructor(status, title, detail, more = {}) {
    super(detail)
    Object.assign(this, { status, title, more })
  }
}
class Stopped extends Error {}

const sleep = (ms) => new Promise((r) => setTimeout(r, ms))
const now = () => new Date().toISOString()

export async function startFake({ port = 0, speed = 1, code = 'CODE', token = 'TOKEN', listing = usual() } = {}) {
  let counter = 0
  let seq = 0
  let codes = new Set([code])
  let killed = false
  let down = false
  const id = (prefix) => prefix + '_' + String(++counter).padStart(6, '0')
  const sessions = new Map() // id → {session, events, turns, queue, running, calls, plan}
  const approvals = new Map()
  const streams = new Set() // {res, session|null}
  let grants = []
  const log = []
  const models = { listing, next: null, log, system: { os: 'linux', arch: 'amd64', memory: 17_179_869_184 } }
  const permissions = {
    mode: 'allow-reads',
    toggles: { readFiles: true, writeFiles: true, runShell: true, network: true },
    rules: [{ do: 'allow', pattern: 'demo_run(make test)', match: ['make test'] }],
    workspaceRoot: '/home/demo/site',
    approvalTimeout: 86400,
    onAsk: 'deny',
    'tools.disabled': [],
  }
  const audit = [
    { n: 2, at: now(), owner: 'local', kind: 'call.refused', call: 'c_2', tool: 'demo_run', source: 'model', verdict: 'deny', rule: 'toggle.runShell', stage: 'policy', outcome: 'denied', labels: {}, sandbox: 'none' },
    { n: 1, at: now(), owner: 'local', kind: 'call.ran', call: 'c_1', tool: 'demo_read', source: 'model', verdict: 'allow', rule: 'mode.allow-reads', stage: 'policy', outcome: 'ok', ms: 120, bytes_in: 20, bytes_out: 900, labels: {}, sandbox: 'none', args: '3101e92e' },
  ]
  let agent = { maxSteps: 0, callsPerStep: 0, history: 0, prefetch: true, persona: '', maxTokens: 0, maxTime: 0 }

  function write(stream, event) {
    const key = stream.session ? event.id : event.seq
    stream.res.write((key ? `id: ${key}\n` : '') + `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  }
  function publish(event) {
    for (const s of streams) if (!s.session || s.session === event.session) write(s, event)
  }
  function emit(session, turn, type, data, transient = false) {
    const s = sessions.get(session)
    const event = { v: 1, ts: now(), session, ...(turn ? { turn } : {}), type, data }
    if (!transient) {
      event.id = (s.events.at(-1)?.id ?? 0) + 1
      event.seq = seq += 1 + (counter % 3)
      s.events.push(event)
      s.session.updated = event.ts
    }
    publish(event)
    return event
  }
  function newSession({ workspace, mode, title, model } = {}) {
    const session = {
      id: id('s'), title: title ?? '', workspace: workspace || '/home/demo/site', mode: mode || permissions.mode, model: model ?? '',
      labels: { tainted: false, private: false }, created: now(), updated: now(),
    }
    sessions.set(session.id, { session, events: [], turns: [], queue: [], running: null, calls: new Map(), files: new Map() })
    return session
  }
  const statusOf = (s) => (s.running ? s.running.turn.status : s.queue.length ? 'queued' : 'idle')

  // Turns

  function newTurn(s, prompt, options) {
    const turn = {
      id: id('t'), session: s.session.id, prompt, options, status: 'queued', usage: { prompt: 0, cached: 0, completion: 0, steps: 0, calls: 0 }, created: now(),
    }
    s.turns.push(turn)
    return turn
  }
  function start(s, turn) {
    const run = { turn, stopped: false, steers: [], wake: new Set(), step: 0, calls: 0, changes: [], denied: [], said: '' }
    s.running = run
    turn.status = 'running'
    if (!s.session.title) s.session.title = turn.prompt.slice(0, 60)
    perform(s, run).catch((e) => console.error('fake:', e))
  }
  async function perform(s, run) {
    const { turn } = run
    const c = context(s, run)
    c.emit('turn.start', { prompt: turn.prompt, mode: s.session.mode, model: 'demo-8b', onAsk: turn.options.onAsk ?? 'deny',
      ...(turn.options.attachments ? { attachments: turn.options.attachments.map((f) => s.files.get(f).a) } : {}) })
    c.emit('prep', { window: 8192, assumed: true, budget: 6144, tools: [], mode: 'native', max_steps: 6 })
    c.emit('budget', { window: 8192, used: 2100 + s.turns.length * 300, usable: 6144, cached: 1500 })
    let status = 'done'
    let reason = ''
    try {
      const play = Object.entries(scripts).find(([word]) => turn.prompt.toLowerCase().includes(word))?.[1] ?? scripts.menu
      const out = await play(c, turn.prompt)
      if (out) ({ status, reason } = out)
    } catch (e) {
      if (!(e instanceof Stopped)) throw e
      status = 'stopped'
      reason = 'stopped by you'
      for (const a of approvals.values()) if (a.turn === turn.id && a.state === 'pending') close(a, 'cancelled', {})
    }
    turn.status = status
    turn.reason = reason
    turn.answer = status === 'done' ? run.said : ''
    turn.usage = { prompt: 5200, cached: 4100, cached_of: 5200, completion: 312, steps: Math.max(1, run.step), calls: run.calls }
    s.running = null
    c.emit('turn.end', {
      status, answer: turn.answer, reason, tool_calls: run.calls, skills: [], usage: turn.usage, denied: run.denied, changes: run.changes,
    })
    const next = s.queue.shift()
    if (next) {
      emit(s.session.id, '', 'queue.changed', { turns: s.queue.map((t) => t.id) })
      start(s, next)
    }
  }
  function context(s, run) {
    const { turn } = run
    const check = () => {
      if (run.stopped) throw new Stopped()
    }
    const c = {
      s, run,
      emit: (type, data, transient) => emit(s.session.id, turn.id, type, data, transient),
      async sleep(ms) {
        check()
        await Promise.race([sleep(ms * speed), new Promise((r) => run.wake.add(r))])
        check()
        for (const words of run.steers.splice(0)) {
          c.emit('steer', { text: words })
          c.steered = words
        }
      },
      async stream(kind, text, ms = 12) {
        const words = text.match(/\S+\s*/g) ?? []
        let batch = ''
        for (const [i, word] of words.entries()) {
          await c.sleep(ms)
          c.emit(kind + '.delta', { text: word }, true)
          batch += word
          if (i % 6 === 5 || i === words.length - 1) {
            c.emit(kind, { text: batch })
            batch = ''
          }
        }
        if (kind === 'text') run.said = text
      },
      think: (text) => c.stream('thought', text),
      say: (text, ms) => c.stream('text', text, ms),
      step(kind, text = '') {
        run.step++
        c.emit('step', { n: run.step, kind, text })
        c.emit('metrics', { step: run.step, first_ms: 220, total_ms: 2300, prompt: 1700, cached: 1400, completion: 80, request_chars: 6000 })
      },
      call(name, title, kind, args) {
        const call = { id: id('c'), session: s.session.id, turn: turn.id, step: run.step + 1, index: 0, asked: name, name, args, state: 'started', outcome: 'denied', source: 'workspace', acts: kind !== 'read', ms: 0, title }
        run.calls++
        s.calls.set(call.id, call)
        c.emit('tool.preview', { name }, true)
        c.emit('tool.call', { call: call.id, name, title, kind, args, step: call.step })
        return call
      },
      result(call, outcome, text, view, more = {}) {
        Object.assign(call, { state: 'ended', outcome, text: more.whole ?? text, ms: more.ms ?? 120, cut: more.cut })
        if (outcome === 'denied' || outcome === 'expired') run.denied.push({ call: call.id, name: call.name, title: call.title, outcome, by: more.by ?? '', reason: more.reason ?? '' })
        const { whole: _, reason: __, ...rest } = more
        c.emit('tool.result', { call: call.id, name: call.name, outcome, text, view: view ?? { shape: 'text', text }, ms: call.ms, label: 'workspace', ...rest })
      },
      async quick(name, title, kind, args, text, view) {
        const call = c.call(name, title, kind, args)
        await c.sleep(60)
        c.result(call, 'ok', text, view)
      },
      open(call, more) {
        const a = {
          id: id('a'), kind: 'call', session: s.session.id, turn: turn.id, step: call.step, call: call.id, tool: call.name, title: call.title, args: call.args,
          effects: ['write'], touches: [], labels: s.session.labels, view: { shape: 'text' }, risk: 'low', why: 'Mode allow-reads asks before a file is changed.',
          rule: 'mode', scopes: ['once', 'task', 'chat'], covers: 'changes to files in /home/demo/site itself', pattern: 'folder:.', folder: s.session.workspace,
          undo: 'The file can be restored from this turn’s changes.', created: now(), expires: new Date(Date.now() + 86_340_000).toISOString(), state: 'pending', ...more,
        }
        approvals.set(a.id, a)
        turn.status = 'waiting'
        call.state = 'waiting'
        c.emit('tool.approval_needed', { approval: a.id, kind: a.kind, call: call.id, title: a.title, risk: a.risk, why: a.why, touches: a.touches, scopes: a.scopes, expires: a.expires })
        c.emit('turn.status', { status: 'waiting' })
        return a
      },
      async wait(a) {
        while (a.state === 'pending') {
          await Promise.race([new Promise((r) => (a.wake = r)), new Promise((r) => run.wake.add(r))])
          check()
          if (run.steers.length) {
            close(a, 'cancelled', {})
            await c.sleep(0)
          }
        }
        if (![...approvals.values()].some((x) => x.turn === turn.id && x.state === 'pending')) {
          turn.status = 'running'
          c.emit('turn.status', { status: 'running' })
        }
        return a.state
      },
      async ask(call, more) {
        return c.wait(c.open(call, more))
      },
    }
    return c
  }
  function close(a, state, answer) {
    a.state = state
    a.answer = { ...answer, by: answer.by ?? 'page', at: now() }
    const type = state === 'approved' ? 'tool.approved' : state === 'denied' ? 'tool.denied' : state === 'expired' ? 'tool.expired' : 'tool.cancelled'
    if (a.session) emit(a.session, a.turn, type, { approval: a.id, call: a.call, state, scope: answer.scope, by: a.answer.by, reason: answer.reason })
    a.wake?.()
  }
  function stop(s) {
    const run = s.running
    if (!run) return []
    run.stopped = true
    for (const w of run.wake) w()
    return [run.turn.id]
  }

  // The API

  const routes = [
    ['GET', /^\/api\/status$/, () => ({
      version: 'fake', killed, sandbox: 'none', workspace: permissions.workspaceRoot, modes: ['ask', 'plan', 'allow-reads', 'allow-edits', 'allow-all'],
      model: { name: 'demo-8b', window: 8192, assumed: true, mode: 'native', base_url: 'http://127.0.0.1:11434', ready: models.listing.default !== '' },
      system: models.system,
    })],
    ...modelRoutes(models, Problem),
    ['GET', /^\/api\/tools$/, () => [
      { name: 'demo_read', title: 'Read', summary: 'Reads a file', effects: ['read'], available: true, enabled: true },
      { name: 'demo_run', title: 'Run', summary: 'Runs a command', effects: ['exec'], available: true, enabled: true },
      { name: 'demo_find', title: 'Find', summary: 'Looks things up', effects: ['network'], available: false, why_not: 'no key is set', enabled: true },
    ]],
    ['GET', /^\/api\/tools\/approvals$/, (_m, _b, q) =>
      [...approvals.values()].filter((a) => (q.get('state') ? a.state === q.get('state') : a.state === 'pending') && (!q.get('session') || a.session === q.get('session'))).map(plain)],
    ['GET', /^\/api\/tools\/approvals\/(\w+)$/, ([aid]) => plain(found(approvals.get(aid)))],
    ['POST', /^\/api\/tools\/approvals$/, (_m, body) =>
      body.answers.map(({ id: aid, ...answer }) => {
        const a = approvals.get(aid)
        if (!a) return { id: aid, status: 404, problem: { detail: 'There is no such approval.' } }
        if (a.state !== 'pending') return { id: aid, status: 409, problem: { detail: 'This was answered already.', by: a.answer?.by ?? '' } }
        if (a.risk === 'high' && answer.approved && !answer.confirm) return { id: aid, status: 422, problem: { detail: 'This has high risk.' } }
        log.push({ path: 'answers', id: aid, ...answer })
        close(a, answer.approved ? 'approved' : 'denied', { yes: !!answer.approved, scope: answer.scope })
        return { id: aid, status: 200, approval: plain(a) }
      })],
    ['POST', /^\/api\/tools\/approvals\/(\w+)\/extend$/, ([aid]) => {
      const a = found(approvals.get(aid))
      if (a.state !== 'pending') throw new Problem(409, 'conflict', 'This was answered already.')
      a.expires = new Date(Date.now() + 86_340_000).toISOString()
      if (a.session) emit(a.session, a.turn, 'tool.approval_extended', { approval: a.id, call: a.call, expires: a.expires, by: 'page' })
      return plain(a)
    }],
    ['POST', /^\/api\/tools\/approvals\/(\w+)$/, ([aid], body) => {
      const a = found(approvals.get(aid))
      if (a.state === 'expired') throw new Problem(410, 'gone', 'Nobody answered in time.')
      if (a.state !== 'pending') throw new Problem(409, 'conflict', 'This was answered already.', { by: a.answer?.by ?? '' })
      if (a.kind === 'question') {
        if (body.declined) close(a, 'denied', { yes: false })
        else {
          if (!Array.isArray(body.answers) || body.answers.length !== a.questions.length) throw new Problem(422, 'unprocessable', 'Every question wants an answer.')
          a.given = body.answers
          close(a, 'approved', { yes: true, answers: body.answers })
        }
        return plain(a)
      }
      if (body.approved && !a.scopes.includes(body.scope ?? 'once')) throw new Problem(409, 'conflict', 'That is not offered here.')
      if (body.args && body.args.path?.startsWith('/')) throw new Problem(403, 'forbidden', 'That path is outside the workspace.', { decision: 'deny', rule: 'P1' })
      if (body.args) a.args = body.args
      if (body.pattern === 'demo_edit(*)') throw new Problem(422, 'unprocessable', 'The pattern is too wide.')
      if (body.scope === 'workspace') {
        if (!body.confirm) throw new Problem(422, 'unprocessable', 'Send confirm with it.')
        permissions.rules.push({ do: 'allow', pattern: body.pattern ?? a.pattern, workspace: a.folder })
      }
      if (body.pattern) a.given = body.pattern
      const scope = body.approved ? (body.scope ?? 'once') : undefined
      if (scope === 'chat' || scope === 'task') {
        grants.push({ id: id('g'), session: a.session, turn: scope === 'task' ? a.turn : undefined, scope, tool: a.tool, kind: 'folder', value: a.folder, mode: 'allow-reads', approval: a.id, created: now() })
      }
      close(a, body.approved ? 'approved' : 'denied', { yes: !!body.approved, scope, reason: body.reason })
      return plain(a)
    }],
    ['GET', /^\/api\/audit\/verify$/, (_m, _b, q) => ({
      ok: true, full: q.get('full') === 'true', keyed: true, checked: 2, first: 1, last: 2, head: 2, faults: [], noted: [],
    })],
    ['GET', /^\/api\/audit$/, (_m, _b, q) => audit.filter((e) => !q.get('verdict') || e.verdict === q.get('verdict'))],
    ['GET', /^\/api\/tools\/calls\/([^/]+)\/explain$/, (m) => ({
      call: m[0], rulings: [{ stage: 'policy', verdict: 'ask', rule: 'mode.allow-reads', reason: 'It changes files.' }, { stage: 'approval', verdict: 'allow', rule: 'person', reason: 'Somebody allowed exactly this call.' }],
      answer: { state: 'used', by: 'page', at: now() },
    })],
    ['GET', /^\/api\/permissions$/, () => ({ ...permissions, grants, fixed: ['approvalTimeout'] })],
    ['POST', /^\/api\/permissions$/, (_m, body) => {
      if (body.revoke) grants = grants.filter((g) => g.id !== body.revoke)
      else {
        if ('approvalTimeout' in body) throw new Problem(409, 'conflict', 'permissions.approvalTimeout is fixed by JACKLINE_PERMISSIONS_APPROVAL_TIMEOUT.')
        Object.assign(permissions, body)
      }
      return { ...permissions, grants, fixed: ['approvalTimeout'] }
    }],
    ['GET', /^\/api\/agent$/, () => agent],
    ['POST', /^\/api\/agent$/, (_m, body) => {
      if (body.maxSteps > 2000) throw new Problem(422, 'unprocessable', 'maxSteps is at most 2000.')
      return (agent = { ...agent, ...body })
    }],
    ['GET', /^\/api\/sessions$/, (_m, _b, q) => {
      const word = (q.get('search') ?? '').toLowerCase()
      return [...sessions.values()]
        .filter((s) => !word || (s.session.title + s.turns.map((t) => t.prompt).join(' ')).toLowerCase().includes(word))
        .sort((a, b) => b.session.updated.localeCompare(a.session.updated))
        .slice(0, Number(q.get('limit')) || 50)
        .map((s) => ({ ...s.session, status: statusOf(s), last: s.turns.at(-1)?.prompt.slice(0, 200) ?? '' }))
    }],
    ['POST', /^\/api\/sessions$/, (_m, body) => {
      if (body.workspace === '/') throw new Problem(403, 'forbidden', 'The root folder cannot be a workspace.')
      return [201, newSession(body)]
    }],
    ['GET', /^\/api\/sessions\/(\w+)$/, ([sid]) => chat(sid).session],
    ['PATCH', /^\/api\/sessions\/(\w+)$/, ([sid], body) => {
      const s = chat(sid)
      if (body.title !== undefined) s.session.title = body.title
      if (body.model !== undefined) s.session.model = body.model
      if (body.ungated !== undefined && body.ungated !== !!s.session.ungated) {
        s.session.ungated = body.ungated
        emit(sid, '', 'label', { labels: s.session.labels, ungated: body.ungated, why: `The taint gate was switched ${body.ungated ? 'off' : 'on'}, by page.` })
      }
      if (body.mode && body.mode !== s.session.mode) {
        s.session.mode = body.mode
        emit(sid, '', 'mode', { mode: body.mode, by: 'page' })
      }
      return s.session
    }],
    ['DELETE', /^\/api\/sessions\/(\w+)$/, ([sid]) => {
      if (chat(sid).running) throw new Problem(409, 'conflict', 'A turn is running; stop it first.')
      sessions.delete(sid)
      return [204]
    }],
    ['POST', /^\/api\/sessions\/(\w+)\/fork$/, ([sid]) => {
      const from = chat(sid)
      const copy = newSession({ ...from.session, title: from.session.title + ' (copy)' })
      const s = sessions.get(copy.id)
      s.events = from.events.map((e) => ({ ...e, session: copy.id }))
      return [201, copy]
    }],
    ['GET', /^\/api\/sessions\/(\w+)\/export$/, ([sid]) => ({ session: chat(sid).session, turns: chat(sid).turns, events: chat(sid).events })],
    ['GET', /^\/api\/sessions\/(\w+)\/turns$/, ([sid]) => chat(sid).turns],
    ['POST', /^\/api\/sessions\/(\w+)\/turns$/, ([sid], body) => {
      const s = chat(sid)
      if (killed) throw new Problem(409, 'conflict', 'Everything is stopped. Lift the stop first.')
      if (body.continue) body.prompt = ''
      else if (!body.prompt) throw new Problem(422, 'unprocessable', 'A prompt must not be empty.')
      log.push({ what: 'turn', body })
      if (s.running && body.when === 'steer') {
        s.running.steers.push(body.prompt)
        for (const w of s.running.wake) w()
        return [202, { turn: s.running.turn, queued: false, steered: true }]
      }
      const turn = newTurn(s, body.prompt, body)
      if (s.running) {
        s.queue.push(turn)
        emit(sid, '', 'queue.changed', { turns: s.queue.map((t) => t.id) })
        return [202, { turn, queued: true, steered: false }]
      }
      start(s, turn)
      return [202, { turn, queued: false, steered: false }]
    }],
    ['POST', /^\/api\/sessions\/(\w+)\/attachments$/, async ([sid], body, q) => {
      const s = chat(sid)
      const name = q.get('name').split(/[/\\]/).pop()
      await sleep(40 * speed)
      if (body.subarray(0, 2).toString() === 'PK') throw new Problem(422, 'unprocessable', `${name} cannot be attached: it is an archive.`)
      const picture = body.subarray(1, 4).toString() === 'PNG'
      const a = {
        id: id('f'), session: sid, name, type: picture ? 'image/png' : 'text/plain', size: body.length, chars: picture ? 0 : body.length, created: now(),
      }
      s.files.set(a.id, { a, data: body })
      log.push({ what: 'upload', name, size: body.length })
      return [201, a]
    }],
    ['GET', /^\/api\/sessions\/(\w+)\/attachments\/(\w+)$/, ([sid, fid]) => found(chat(sid).files.get(fid)).data],
    ['DELETE', /^\/api\/sessions\/(\w+)\/attachments\/(\w+)$/, ([sid, fid]) => {
      if (!chat(sid).files.delete(fid)) throw new Problem(404, 'not-found', 'There is no such attachment in this chat.')
      log.push({ what: 'detach', fid })
      return [204]
    }],
    ['GET', /^\/api\/workspace\/browse$/, (_m, _b, q) => {
      const at = q.get('path') || '/home/demo'
      if (!(at in tree)) throw new Problem(404, 'not-found', `"${at}" does not exist; make the folder first.`)
      const parts = at.split('/').slice(1, -1)
      return {
        path: at, more: 0, folders: tree[at].map((name) => ({ name, path: at + '/' + name })),
        above: parts.map((name, i) => ({ name, path: '/' + parts.slice(0, i + 1).join('/') })).filter((c) => c.path in tree),
      }
    }],
    ['POST', /^\/api\/workspace\/vet$/, (_m, body) => look(body.path)],
    ['POST', /^\/api\/workspace\/trust$/, (_m, body) => {
      if (body.trusted) trusted.add(body.path)
      else trusted.delete(body.path)
      return look(body.path)
    }],
    ['GET', /^\/api\/sessions\/(\w+)\/queue$/, ([sid]) => chat(sid).queue],
    ['PATCH', /^\/api\/sessions\/(\w+)\/queue\/(\w+)$/, ([sid, tid], body) => Object.assign(found(chat(sid).queue.find((t) => t.id === tid)), body)],
    ['DELETE', /^\/api\/sessions\/(\w+)\/queue\/(\w+)$/, ([sid, tid]) => {
      const s = chat(sid)
      s.queue = s.queue.filter((t) => t.id !== tid)
      emit(sid, '', 'queue.changed', { turns: s.queue.map((t) => t.id) })
      return [204]
    }],
    ['POST', /^\/api\/sessions\/(\w+)\/stop$/, async ([sid]) => {
      const stopped = stop(chat(sid))
      await sleep(150 * speed)
      return [202, { stopped }]
    }],
    ['GET', /^\/api\/sessions\/(\w+)\/calls\/(\w+)$/, ([sid, cid]) => found(chat(sid).calls.get(cid))],
    ['POST', /^\/api\/stop$/, (_m, body) => {
      killed = !body.lift
      const stopped = killed ? [...sessions.values()].flatMap(stop) : []
      publish({ v: 1, seq: ++seq, ts: now(), session: '', type: 'killed', data: { on: killed, by: 'page' } })
      return { killed, stopped }
    }],
  ]
  const tree = { '/home': ['demo'], '/home/demo': ['notes', 'shop', 'site'], '/home/demo/notes': [], '/home/demo/shop': ['src'], '/home/demo/shop/src': [], '/home/demo/site': [] }
  const trusted = new Set()
  const look = (at) => {
    const fits = at.startsWith('/home/demo/')
    const shop = at === '/home/demo/shop'
    return {
      path: at, fits, why: fits ? '' : `"${at}" is the whole home folder.`, writable: fits, trusted: trusted.has(at), git: shop, guide: shop ? 1200 : 0,
      protected: shop ? ['.env', '.git'] : [], entries: 3,
    }
  }
  const plain = ({ wake: _, given: __, ...a }) => a
  const found = (x) => {
    if (!x) throw new Problem(404, 'not-found', 'There is no such thing.')
    return x
  }
  const chat = (sid) => found(sessions.get(sid))

  function sse(req, res, url) {
    const m = /^\/api\/(?:sessions\/(\w+)\/)?events$/.exec(url.pathname)
    const session = m[1] ?? null
    const after = Number(req.headers['last-event-id'] ?? url.searchParams.get('after') ?? 0)
    const all = session ? chat(session).events : [...sessions.values()].flatMap((s) => s.events).sort((a, b) => a.seq - b.seq)
    res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    const stream = { res, session }
    const key = session ? 'id' : 'seq'
    for (const event of all) if (event[key] > after) write(stream, event)
    const last = session ? (all.at(-1)?.id ?? 0) : seq
    res.write(`event: ready\ndata: ${JSON.stringify({ type: 'ready', data: { id: last } })}\n\n`)
    streams.add(stream)
    res.on('close', () => streams.delete(stream))
  }

  const server = createServer(async (req, res) => {
    const url = new URL(req.url, 'http://x')
    const headers = { 'X-Content-Type-Options': 'nosniff', 'Referrer-Policy': 'no-referrer', 'Cross-Origin-Resource-Policy': 'same-origin' }
    const problem = (status, title, detail, more = {}) => {
      res.writeHead(status, { ...headers, 'Content-Type': 'application/problem+json' })
      res.end(JSON.stringify({ type: 'about:blank', title, status, detail, ...more }))
    }
    try {
      if (down) {
        req.socket.destroy()
        return
      }
      if (!url.pathname.startsWith('/api/')) {
        const name = url.pathname === '/' ? '/index.html' : url.pathname
        const file = path.join(dist, path.normalize(name))
        if (!file.startsWith(dist) || !existsSync(file)) return problem(404, 'not-found', 'no such page')
        res.writeHead(200, { ...headers, 'Content-Security-Policy': csp, 'Content-Type': types[path.extname(file)] ?? 'application/octet-stream' })
        res.end(await readFile(file))
        return
      }
      let body = {}
      if (req.method !== 'GET' && req.method !== 'DELETE') {
        const chunks = []
        for await (const chunk of req) chunks.push(chunk)
        if (req.headers['content-type'] === 'application/octet-stream' && /\/attachments$/.test(url.pathname)) body = Buffer.concat(chunks)
        else if (!/^application\/json/.test(req.headers['content-type'] ?? '')) return problem(415, 'invalid', 'JSON only')
        else body = chunks.length ? JSON.parse(Buffer.concat(chunks).toString()) : {}
      }
      if (url.pathname === '/api/login') {
        if (!codes.delete(body.code)) return problem(401, 'forbidden', 'That code does not work.')
        res.writeHead(200, { ...headers, 'Content-Type': 'application/json' })
        res.end(JSON.stringify({ token }))
        return
      }
      if (req.headers.authorization !== 'Bearer ' + token) return problem(401, 'unauthorized', 'A token is needed.')
      if (url.pathname.endsWith('/events')) return sse(req, res, url)
      for (const [method, pattern, handle] of routes) {
        const m = method === req.method && pattern.exec(url.pathname)
        if (!m) continue
        const out = await handle(m.slice(1), body, url.searchParams)
        if (Buffer.isBuffer(out)) {
          res.writeHead(200, { ...headers, 'Content-Type': 'application/octet-stream', 'Content-Disposition': 'attachment' })
          res.end(out)
          return
        }
        const [status, value] = Array.isArray(out) && typeof out[0] === 'number' ? out : [200, out]
        res.writeHead(status, { ...headers, 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
        res.end(status === 204 ? undefined : JSON.stringify(value))
        return
      }
      problem(404, 'not-found', 'There is no such route.')
    } catch (e) {
      if (e instanceof Problem) problem(e.status, e.title, e.message, e.more)
      else {
        console.error('fake:', e)
        if (!res.headersSent) problem(500, 'internal', String(e))
      }
    }
  })
  await new Promise((r) => server.listen(port, '127.0.0.1', r))
  const address = `http://127.0.0.1:${server.address().port}`

  return {
    url: address,
    link: `${address}/#code=${code}`,
    sessions, approvals, log, newSession, emit,
    addCode: (c) => codes.add(c),
    models,
    /** Says something in the turn that runs. */
    emit(sid, type, data) {
      emit(sid, sessions.get(sid).running?.turn.id ?? '', type, data)
    },
    /** Cuts all lines that are open. */
    drop() {
      for (const s of streams) s.res.destroy()
    },
    /** Refuses everything until told otherwise. */
    setDown(v) {
      down = v
      if (v) for (const s of streams) s.res.destroy()
    },
    /** Answers a card as another client would. */
    answer(aid, state, by = 'cli') {
      close(approvals.get(aid), state, { yes: state === 'approved', scope: 'once', by })
    },
    start: (sid, prompt) => {
      const s = sessions.get(sid)
      start(s, newTurn(s, prompt, { onAsk: 'wait' }))
    },
    async close() {
      for (const s of sessions.values()) stop(s)
      for (const s of streams) s.res.destroy()
      server.closeAllConnections()
      await new Promise((r) => server.close(r))
    },
  }
}

// The scripts, by a word in the prompt.

const navPatch = `@@ -14,9 +14,14 @@ body {
 
 nav {
   display: flex;
-  position: static;
-  padding: 8px;
+  position: sticky;
+  top: 0;
+  z-index: 10;
+  padding: 8px 16px;
+  background: var(--paper);
+  border-bottom: 1px solid var(--line);
   gap: 12px;
 }
 
`

const answerText = `The menu stays at the top now, and all tests pass.

## What changed

- \`nav.css\`: the bar is **sticky**, with a background so that text does not shine through
- \`index.html\`: unchanged, it was fine

\`\`\`css
nav {
  position: sticky;
  top: 0;
}
\`\`\`

| file | lines | tests |
| --- | ---: | --- |
| nav.css | +6 −2 | 3 passed |
| index.html | 0 | 4 passed |

See [the notes on sticky positioning](https://example.org/css/position?from=demo#sticky) for old browsers. ![diagram](https://example.org/pic.png)`

const scripts = {
  // The whole of it: thought, text, reads, plan, a card, a question, a terminal, an answer.
  async menu(c) {
    await c.think('The person wants the menu to stay in view. I should look at the style sheet first, then at the markup. After that I can change the position and run the tests.')
    await c.say('I will look at the styles and the markup first.')
    const plan = (n) => c.emit('plan.update', { steps: ['Find the menu', 'Make it sticky', 'Run the tests'].map((text, i) => ({ text, state: i < n ? 'done' : i === n ? 'active' : 'pending' })) })
    plan(0)
    await c.quick('demo_read', 'Read nav.css', 'read', { path: 'nav.css' }, 'nav {\n  display: flex;\n  position: static;\n}\n')
    await c.quick('demo_read', 'Read index.html', 'read', { path: 'index.html' }, '<nav>\n  <a href="/">Home</a>\n</nav>\n')
    await c.quick('demo_search', 'Search “sticky” in **/*.css', 'search', { pattern: 'sticky' }, 'main.css:40: sticky', { shape: 'table', head: ['file', 'line', 'text'], rows: [['main.css', '40', '  position: sticky;']] })
    c.step('tool')
    plan(1)
    const files = [{ path: 'nav.css', change: 'edit', added: 6, gone: 2, patch: navPatch }]
    const edit = c.call('demo_edit', 'Edit nav.css', 'edit', { path: 'nav.css', old: '  position: static;\n  padding: 8px;', new: '  position: sticky;\n  top: 0;' })
    const state = await c.ask(edit, { view: { shape: 'diff', files }, touches: [{ effect: ['write'], kind: 'path', name: 'nav.css', exists: true }], risk: 'medium' })
    if (state === 'approved') {
      c.result(edit, 'ok', 'edited nav.css', { shape: 'diff', files }, { ms: 40 })
      c.run.changes.push({ path: 'nav.css', change: 'edit', added: 6, gone: 2 })
    } else {
      const a = [...c.s.calls.keys()].includes(edit.id)
      c.result(edit, state === 'denied' ? 'denied' : 'cancelled', 'denied', undefined, { by: 'page', reason: a ? 'a person said no' : '' })
      await c.say('Then I leave the style sheet as it is.')
      c.step('answer')
      return
    }
    c.step('tool')
    plan(2)
    const question = c.call('demo_ask', 'Ask which browsers matter', 'other', { questions: 1 })
    const a = c.open(question, {
      kind: 'question', title: 'Which browsers matter?', scopes: [], risk: 'low',
      questions: [{ text: 'Which browsers must this work in?', options: ['Current ones', 'Also two years old', 'Everything'] }],
    })
    const said = await c.wait(a)
    c.result(question, said === 'approved' ? 'ok' : 'denied', said === 'approved' ? a.given.flat().join(', ') : 'declined', undefined, said === 'approved' ? { label: 'ours' } : { by: 'page' })
    const run = c.call('demo_run', 'Run npm test', 'execute', { command: 'npm test' })
    let out = ''
    for (const line of ['> site@1.0.0 test', '> node --test', '', '✔ nav stays at the top (3.1 ms)', '✔ nav has a background (1.2 ms)', '✔ links are in order (0.8 ms)', 'ℹ tests 3', 'ℹ pass 3', 'ℹ fail 0']) {
      await c.sleep(60)
      out += line + '\n'
      c.emit('tool.progress', { call: run.id, text: line + '\n' }, true)
    }
    c.result(run, 'ok', out, { shape: 'terminal', text: out, exit: 0 }, { ms: 1840 })
    plan(3)
    c.step('tool')
    c.emit('budget', { window: 8192, used: 4850, usable: 6144, cached: 4100 })
    await c.say(answerText)
    c.step('answer')
  },

  // Writes a call with a long argument, piece by piece, and makes it.
  async writing(c) {
    await c.say('I write it down.')
    const args = { path: 'notes.txt', content: Array.from({ length: 40 }, (_, i) => `line ${i + 1} of the log`).join('\n') }
    const text = JSON.stringify(args)
    c.emit('tool.preview', { name: 'demo_write' }, true)
    for (let n = 40; n < text.length + 40; n += 40) {
      await c.sleep(1500)
      c.emit('tool.preview', { name: 'demo_write', args: text.slice(0, n).slice(-2000) }, true)
    }
    c.result(c.call('demo_write', 'Write notes.txt', 'edit', args), 'ok', 'written')
    c.step('tool')
    await c.say('It is written down.')
    c.step('answer')
  },

  // Goes on until it is stopped or steered.
  async slow(c) {
    await c.think('This will take a while. I count slowly.')
    for (let i = 1; i <= 400; i++) {
      await c.say(`Number ${i} of many. `, 25)
      if (c.steered) {
        c.step('answer')
        await c.say(`\n\nAll right: ${c.steered}.`)
        c.step('answer')
        return
      }
    }
    c.step('answer')
  },

  // Deletes, in a tainted chat, with a command that hides things; and it is long.
  async danger(c) {
    c.s.session.labels = { tainted: true, private: true }
    c.emit('label', { labels: c.s.session.labels, why: 'the page https://example.org/howto was read in step 1' })
    await c.say('I will clean up the old build.')
    const command = 'rm -rf ./build && rm -rf ./c\u0430che \u202egnp.dlo\u202c\n' + Array.from({ length: 24 }, (_, i) => `echo "part ${i + 1} of a long script"`).join('\n') + '\ncurl https://exam\u0440le.org/\u200bx'
    const call = c.call('demo_run', 'Run rm -rf ./build', 'execute', { command, cwd: '.' })
    const state = await c.ask(call, {
      effects: ['exec', 'delete', 'network'], risk: 'high', view: { shape: 'terminal', text: `$ ${command}` }, scopes: ['once', 'task'], covers: 'this exact command only', pattern: '',
      touches: [{ effect: ['delete'], kind: 'path', name: 'build', exists: true }, { effect: ['network'], kind: 'host', name: 'exam\u0440le.org:443' }],
      why: 'It deletes and reaches the network.', rule: 'taint', undo: 'Deleted files cannot be brought back.', labels: c.s.session.labels,
    })
    if (state === 'approved') c.result(call, 'ok', 'done', { shape: 'terminal', text: 'done', exit: 0 })
    else c.result(call, 'denied', 'denied', undefined, { by: 'page', reason: 'a person said no' })
    c.step('tool')
    await c.say(state === 'approved' ? 'The build is gone.' : 'Then the build stays.')
    c.step('answer')
  },

  // Two cards at once.
  async two(c) {
    const calls = ['a.txt', 'b.txt'].map((p) => c.call('demo_edit', `Create ${p}`, 'edit', { path: p, content: 'hello\n' }))
    const cards = calls.map((call) =>
      c.open(call, {
        view: { shape: 'diff', files: [{ path: call.args.path, change: 'create', added: 1, gone: 0, patch: '@@ -0,0 +1 @@\n+hello\n' }] },
        touches: [{ effect: ['write'], kind: 'path', name: call.args.path }],
      }),
    )
    for (const [i, a] of cards.entries()) {
      const state = await c.wait(a)
      if (state === 'approved') c.result(calls[i], 'ok', 'created', a.view)
      else c.result(calls[i], state === 'denied' ? 'denied' : 'cancelled', 'denied', undefined, { by: a.answer.by, reason: a.answer.reason ?? '' })
    }
    c.step('tool')
    await c.say(`Done: ${cards.map((a) => a.state).join(', ')}.`)
    c.step('answer')
  },

  // A step with calls of all kinds of risk, and one that waits not much longer.
  async step(c) {
    const calls = [['a.txt', 'low'], ['b.txt', 'medium'], ['c.txt', 'high'], ['d.txt', 'low']].map(([p, risk]) => [c.call('demo_edit', `Change ${p}`, 'edit', { path: p }), p, risk])
    const cards = calls.map(([call, p, risk], k) =>
      c.open(call, {
        risk, view: { shape: 'text', text: k === 3 ? Array.from({ length: 30 }, (_, i) => `line ${i + 1}`).join('\n') : 'short' },
        touches: [{ effect: ['write'], kind: 'path', name: p }], scopes: ['once', 'task', 'chat', 'workspace'], pattern: 'demo_edit(*)',
      }),
    )
    for (const [i, a] of cards.entries()) {
      const state = await c.wait(a)
      c.result(calls[i][0], state === 'approved' ? 'ok' : 'denied', state, a.view, { by: a.answer.by })
    }
    c.step('tool')
    await c.say(`Step: ${cards.map((a) => a.state).join(', ')}.`)
    c.step('answer')
  },

  async rule(c) {
    const call = c.call('demo_run', 'Run npm run lint', 'execute', { command: 'npm run lint' })
    const state = await c.ask(call, {
      effects: ['exec'], risk: 'low', view: { shape: 'terminal', text: '$ npm run lint' }, scopes: ['once', 'task', 'chat', 'workspace'], covers: 'this exact command only',
      pattern: 'demo_run(npm run lint)', expires: new Date(Date.now() + 1_500_000).toISOString(),
    })
    c.result(call, state === 'approved' ? 'ok' : 'denied', state, { shape: 'terminal', text: state, exit: 0 }, { by: 'page' })
    c.step('tool')
    await c.say(`The rule: ${state}.`)
    c.step('answer')
  },

  async limit(c) {
    await c.quick('demo_read', 'Read log.txt', 'read', { path: 'log.txt' }, 'x\n'.repeat(50))
    c.step('tool')
    await c.say('There is more to read.')
    return { status: 'step-limit', reason: 'the limit of 6 steps was reached' }
  },

  // Everything small: notes, states of steps, long and cut results.
  async notes(c) {
    c.emit('nudge', { kind: 'realtime', text: 'Look it up rather than guess.' })
    c.emit('compaction.start', { chars: 21000 })
    await c.sleep(80)
    c.emit('compaction.done', { before: 21000, after: 12400, summary: 'The menu was made sticky.', kept: true })
    const cut = 'y'.repeat(1999) + '…'
    const long = c.call('demo_read', 'Read big.log', 'read', { path: 'big.log' })
    c.result(long, 'ok', cut, { shape: 'text', text: cut }, { cut: 80000, whole: 'y'.repeat(5000) + ' END OF FILE' })
    const failed = c.call('demo_run', 'Run make', 'execute', { command: 'make' })
    c.result(failed, 'error', 'make: *** No rule', { shape: 'terminal', text: 'make: *** No rule to make target', exit: 2 }, { ms: 90 })
    const unknown = c.call('demo_run', 'Run deploy', 'execute', { command: 'deploy' })
    c.result(unknown, 'unknown', '')
    const rule = c.call('demo_edit', 'Edit .git/config', 'edit', { path: '.git/config' })
    c.result(rule, 'denied', 'denied', undefined, { by: 'rule P4', reason: 'protected name' })
    const expired = c.call('demo_edit', 'Edit old.txt', 'edit', { path: 'old.txt' })
    c.result(expired, 'expired', 'nobody answered')
    c.emit('todo.update', { items: [{ text: 'Water the plants', state: 'done' }, { text: 'Feed the cat', state: 'pending' }] })
    c.emit('loop.guard', { reason: 'the same call brought the same result three times' })
    c.emit('error', { kind: 'unavailable', text: 'The engine did not answer; trying again.' })
    c.step('tool')
    await c.say('Raw <script>alert(1)</script> and <img src=x onerror=alert(2)> stay text. [bad](javascript:alert(3))')
    c.step('answer')
  },

  async questions(c) {
    const call = c.call('demo_ask', 'Ask two things', 'other', {})
    const a = c.open(call, {
      kind: 'question', title: 'Two questions', scopes: [], risk: 'low',
      questions: [{ text: 'Which colours?', options: ['red', 'green', 'blue'], many: true }, { text: 'What is it called?' }],
    })
    const state = await c.wait(a)
    c.result(call, state === 'approved' ? 'ok' : 'denied', state === 'approved' ? JSON.stringify(a.given) : 'declined', undefined, state === 'approved' ? {} : { by: 'page' })
    c.step('tool')
    await c.say(state === 'approved' ? `You said ${JSON.stringify(a.given)}.` : 'You would rather not say.')
    c.step('answer')
  },
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fake = await startFake({ port: Number(process.argv[2] ?? 7718), speed: 1 })
  for (const [title, days] of [['Tax folder', 0], ['Log cleanup', 0], ['Router config', 3], ['Holiday photos by year', 5], ['Backup script', 40]]) {
    fake.newSession({ title }).updated = new Date(Date.now() - days * 86_400_000 - 3_600_000).toISOString()
  }
  console.log(fake.link)
}
