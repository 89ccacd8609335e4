// The engines and models of the stand-in server: the API of models, from memory. The real one has its own tests.

export const qwen = { id: 'qwen3:4b', mode: 'native', window: 40960, window_assumed: false, trained: 40960, tools: 'yes', thinking: 'yes', vision: 'no', loaded: 'yes', remote: 'no', bytes: 2_497_293_931, digest: '', source: {} }
export const gemma = { id: 'gemma3:4b', mode: 'text', window: 8192, window_assumed: true, trained: 0, tools: 'no', thinking: 'unknown', vision: 'yes', loaded: 'no', remote: 'no', bytes: 3_338_801_804, digest: '', source: {} }
export const bare = { id: 'mystery', mode: 'text', window: 0, window_assumed: false, trained: 0, tools: 'unknown', thinking: 'unknown', vision: 'unknown', loaded: 'unknown', remote: 'unknown', bytes: 0, digest: '', source: {} }

const engine = (id, more = {}) => ({ id, engine: id, api: 'ollama', base_url: 'http://127.0.0.1:11434', version: '', state: 'ready', why: '', key_env: '', origin: 'found', models: [], ...more })

/** An Ollama with these models. */
export const ollama = (models = [], more = {}) =>
  engine('ollama', { version: '0.40.2', state: models.length ? 'ready' : 'no-model', why: models.length ? '' : 'It has no model yet.', models: models.map((m) => ({ ...m, ref: 'ollama/' + m.id })), ...more })

export { engine }

/** What there is before a test says otherwise: one engine with two models, one of them the default. */
export const usual = () => ({ default: 'ollama/qwen3:4b', engines: [ollama([qwen, gemma])], pulls: [] })

const grade = (check, title, verdict, why) => ({ check, title, verdict, share: { pass: 1, partial: 0.5 }[verdict] ?? 0, why, tokens: 300, ms: 1200 })

/** What a probe finds: a model that does one thing in part. */
export const verdict = () => ({
  at: '2026-03-01T10:00:00Z', times: 1, mode: 'text', passed: true, why: 'Calls in mode text do what turns need, with 98 of 100 points.', tools: 'no', thinking: 'unknown',
  tool_budget: 20, step_budget: 20, reads: 812, writes: 24.5, measured: 'engine', tokens: 5000, ms: 61_000,
  ways: [
    { mode: 'native', score: 0, fit: false, why: 'The engine says that this model takes no tools of its own.', grades: [] },
    { mode: 'text', score: 0.975, fit: true, grades: [grade('forced', 'makes a call when told to', 'pass', 'It made the call.'), grade('parallel', 'makes two calls at once', 'partial', 'It makes one call after the other.'), grade('many', 'finds its tool among 20', 'skipped', 'Not made.')] },
  ],
})

/** The routes, over a state that tests change as they like: { listing, next, log, tests, step, doctor }. next is what a new look finds. */
export function modelRoutes(state, Problem) {
  const l = () => state.listing
  const found = (x, what = 'There is no such thing.') => {
    if (!x) throw new Problem(404, 'not-found', what)
    return x
  }
  const over = (p) => ['success', 'failed', 'cancelled'].includes(p.status)
  /** A download comes further each time it is looked at, so that no test waits for a clock. */
  function move() {
    for (const p of l().pulls) {
      if (over(p) || state.hold) continue
      p.status = 'pulling'
      p.done = Math.min(p.total, p.done + (state.step ?? 0.4) * p.total)
      if (p.done < p.total) continue
      p.status = 'success'
      const e = l().engines.find((x) => x.id === p.engine)
      e.models.push({ ...qwen, id: p.model, ref: `${e.id}/${p.model}` })
      e.state = 'ready'
      e.why = ''
    }
    return l().pulls
  }
  return [
    ['GET', /^\/api\/models$/, (_m, _b, q) => {
      if (state.fail) throw new Problem(500, 'internal', state.fail)
      if (q.get('refresh') && state.next) {
        state.listing = state.next
        state.next = null
      }
      return l()
    }],
    ['POST', /^\/api\/models\/test$/, (_m, body) => {
      state.log.push({ what: 'test', body })
      if (body.id) return found(l().engines.find((e) => e.id === body.id))
      if (!/^https?:/.test(body.base_url)) throw new Problem(422, 'unprocessable', 'An address begins with http:// or https://.')
      return state.tried?.(body) ?? engine('openai', { api: body.api ?? 'openai', base_url: body.base_url, state: 'down', why: 'Nothing answers at this address.' })
    }],
    ['POST', /^\/api\/models$/, (_m, body) => {
      state.log.push({ what: 'add', body })
      const made = engine(body.name || 'added', { engine: 'openai', name: body.name, api: body.api ?? 'openai', base_url: body.base_url, origin: 'added', models: [{ ...bare, ref: (body.name || 'added') + '/mystery' }] })
      l().engines = [...l().engines.filter((e) => e.base_url !== body.base_url), made]
      return [201, made]
    }],
    ['PUT', /^\/api\/models\/default$/, (_m, body) => {
      l().default = body.ref
      return { ref: body.ref }
    }],
    ['POST', /^\/api\/models\/pull$/, (_m, body) => {
      state.log.push({ what: 'pull', body })
      if (/ /.test(body.model)) throw new Problem(422, 'unprocessable', 'Name the model that is to be fetched, as in qwen3:4b.')
      const before = l().pulls.findLast((p) => p.model === body.model)
      const pull = { id: 'pull-' + (l().pulls.length + 1), engine: body.engine, model: body.model, status: 'waiting', done: before?.done ?? 0, total: 2_497_293_931 }
      l().pulls = [...l().pulls, pull]
      return [202, pull]
    }],
    ['GET', /^\/api\/models\/pulls$/, () => move()],
    ['DELETE', /^\/api\/models\/pulls\/([\w-]+)$/, ([id]) => {
      const p = found(l().pulls.find((x) => x.id === id))
      if (over(p)) l().pulls = l().pulls.filter((x) => x !== p)
      else p.status = 'cancelled'
      return [204]
    }],
    ['POST', /^\/api\/models\/probe$/, (_m, body) => {
      state.log.push({ what: 'probe', body })
      if (state.unprobed) throw new Problem(409, 'conflict', state.unprobed)
      const probe = { id: 'probe-' + ((l().probes ?? []).length + 1), ref: body.ref, status: 'running', doing: 'native: makes a call when told to', done: 0, total: 14 }
      l().probes = [...(l().probes ?? []), probe]
      return [202, probe]
    }],
    ['GET', /^\/api\/models\/probes$/, () => {
      for (const p of l().probes ?? []) {
        if (p.status !== 'running' || state.hold) continue
        p.done += 7
        if (p.done < p.total) continue
        if (state.probeFails) Object.assign(p, { status: 'failed', error: state.probeFails })
        else {
          Object.assign(p, { status: 'done', result: verdict() })
          for (const e of l().engines) e.models = e.models.map((m) => (m.ref === p.ref ? { ...m, mode: 'text', probed: verdict(), source: { mode: 'probe' } } : m))
        }
      }
      return l().probes ?? []
    }],
    ['DELETE', /^\/api\/models\/probes\/([\w-]+)$/, ([id]) => {
      const p = found((l().probes ?? []).find((x) => x.id === id))
      if (p.status === 'running') p.status = 'cancelled'
      else l().probes = l().probes.filter((x) => x !== p)
      return [204]
    }],
    ['POST', /^\/api\/models\/remove$/, (_m, body) => {
      for (const e of l().engines) e.models = e.models.filter((m) => m.ref !== body.ref)
      return [204]
    }],
    ['DELETE', /^\/api\/models\/([\w-]+)$/, ([id]) => {
      l().engines = l().engines.filter((e) => e.id !== id)
      return [204]
    }],
    ['GET', /^\/api\/doctor$/, () => state.doctor ?? {
      ok: false,
      checks: [
        { id: 'store', title: 'Database', state: 'ok', text: 'It can be written.', fix: '' },
        { id: 'sandbox', title: 'Sandbox', state: 'warn', text: 'There is none here.', fix: 'Commands are asked about.' },
        { id: 'engine', title: 'Engine', state: 'fail', text: 'Nothing answers.', fix: 'ollama serve' },
        { id: 'net', title: 'Network', state: 'unknown', text: 'It was not looked at.', fix: '' },
      ],
    }],
  ]
}
