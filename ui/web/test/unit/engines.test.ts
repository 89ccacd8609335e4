import { describe, expect, it } from 'vitest'
import { choices, find, latest, matching, modelName, percent, platformOf, points, probeOf, pullState, ranked, stage, suggestions, taken } from '../../src/lib/engines'
import { bytes } from '../../src/lib/format'
import { plain } from '../../src/lib/reveal'
import { t } from '../../src/lib/strings'
import type { Engine, Catalogue, ModelInfo, Probe, Pull, Verdict } from '../../src/lib/types'

const model = (id: string, more: Partial<ModelInfo> = {}): ModelInfo => ({ ref: 'e/' + id, id, tools: 'unknown', loaded: 'unknown', ...more })
const engine = (more: Partial<Engine> = {}): Engine => ({ id: 'e', engine: 'ollama', api: 'ollama', base_url: 'http://127.0.0.1:11434', state: 'ready', origin: 'found', models: [], ...more })
const listing = (engines: Engine[] | null, more: Partial<Catalogue> = {}): Catalogue => ({ default: '', engines, pulls: null, ...more })

describe('the stage of a first run', () => {
  it('is nothing without an engine that answers', () => {
    expect(stage(null)).toBe('nothing')
    expect(stage(listing(null))).toBe('nothing')
    expect(stage(listing([engine({ state: 'down', models: null }), engine({ state: 'needs-key', models: null })]))).toBe('nothing')
    expect(stage(listing([engine({ state: 'down', models: [model('a')] })]))).toBe('nothing')
  })
  it('is empty with an engine without models', () => {
    expect(stage(listing([engine({ state: 'no-model', models: null })]))).toBe('empty')
    expect(stage(listing([engine()]))).toBe('empty')
  })
  it('takes the only model, and the default, and else asks', () => {
    const one = listing([engine({ models: [model('a')] })])
    expect([stage(one), taken(one)]).toEqual(['ready', 'e/a'])
    const two = listing([engine({ models: [model('a'), model('b')] })])
    expect([stage(two), taken(two)]).toEqual(['choose', ''])
    expect(taken({ ...two, default: 'e/b' })).toBe('e/b')
    expect(stage({ ...two, default: 'gone/x' })).toBe('ready')
  })
  it('takes no service on the network unasked', () => {
    const cloud = listing([engine({ origin: 'cloud', models: [model('big')] })])
    expect([stage(cloud), taken(cloud)]).toEqual(['choose', ''])
    const both = listing([engine({ origin: 'cloud', id: 'c', models: [{ ...model('big'), ref: 'c/big' }] }), engine({ models: [model('a')] })])
    expect(taken(both)).toBe('e/a')
  })
})

describe('models', () => {
  const l = listing([engine({ models: [model('qwen3:4b', { tools: 'yes', bytes: 25e8 }), model('gemma3:4b', { tools: 'no' })] }), engine({ id: 'v', engine: 'vllm', models: [{ ...model('llama', { tools: 'yes', loaded: 'yes' }), ref: 'v/llama' }] })])
  it('are found by reference and by words in any order', () => {
    expect(find(l, 'v/llama')?.engine.engine).toBe('vllm')
    expect(find(l, 'nope')).toBeUndefined()
    expect(matching(l, '4B ollama').map((g) => g.models.map((m) => m.id))).toEqual([['qwen3:4b', 'gemma3:4b']])
    expect(matching(l, 'vllm').map((g) => g.engine.id)).toEqual(['v'])
    expect(matching(l, 'zzz')).toEqual([])
    expect(matching(l, ' ')).toHaveLength(2)
    expect(choices(null)).toEqual([])
  })
  it('that call tools and are loaded come first', () => expect(ranked(l).map((c) => c.model.id)).toEqual(['llama', 'qwen3:4b', 'gemma3:4b']))
  it('say what is unknown', () => {
    expect(t.models.facts(model('x'))).toEqual(['window unknown', 'tools: unknown', 'vision: unknown', 'thinking: unknown', 'size unknown', 'loaded: unknown'])
    expect(t.models.facts(model('x', { window: 8192, window_assumed: true, tools: 'no', vision: 'yes', remote: 'yes' }))).toContain('8,192 tokens window (assumed)')
  })
  it('have names that hide nothing', () => {
    const evil = 'a\u202eb\u0000<b>' + 'x'.repeat(500)
    const name = modelName(listing([engine({ models: [{ ...model(evil), ref: 'r' }] })]), 'r')
    expect(name.startsWith('a\ufffdb\ufffd<b>x')).toBe(true)
    expect([...name].length).toBeLessThanOrEqual(90)
    expect(plain('line\nbreak')).toBe('line break')
    expect(t.models.sentence(engine({ state: 'down', why: 'gone\u2066!', models: null }))).toBe('Ollama: not answering. gone\ufffd!')
  })
})

describe('downloads', () => {
  const pull = (more: Partial<Pull>): Pull => ({ id: 'p', engine: 'e', model: 'm', status: 'pulling', done: 0, total: 0, ...more })
  it('are under way until they say otherwise', () => {
    expect([pullState(pull({})), pullState(pull({ status: 'verifying sha256 digest' })), pullState(pull({ status: 'success' })), pullState(pull({ status: 'failed' })), pullState(pull({ status: 'cancelled' }))]).toEqual([
      'active', 'active', 'done', 'failed', 'cancelled',
    ])
  })
  it('have a share where a total is known', () => {
    expect([percent(pull({})), percent(pull({ done: 1, total: 3 })), percent(pull({ done: 9, total: 3 })), percent(pull({ status: 'success' }))]).toEqual([-1, 33, 100, 100])
  })
  it('are listed once for each model', () => expect(latest([pull({ id: 'a' }), pull({ id: 'b', model: 'n' }), pull({ id: 'c' })]).map((p) => p.id)).toEqual(['b', 'c']))
})

describe('what to begin with', () => {
  it('fits the memory', () => {
    const best = (gib: number) => suggestions(gib * 2 ** 30).find((s) => s.best)?.name
    expect([best(4), best(8), best(16), best(64)]).toEqual([undefined, 'qwen3:4b', 'qwen3:8b', 'qwen3:8b'])
    expect(suggestions(64 * 2 ** 30).every((s) => s.fits)).toBe(true)
    expect(suggestions(0).map((s) => s.fits)).toEqual(suggestions(0).map(() => null))
    expect(suggestions(0).find((s) => s.best)?.name).toBe('qwen3:4b')
  })
  it('is for the system of the server', () => {
    expect(platformOf({ os: 'windows', arch: 'amd64' }, 'Mac')).toBe('windows')
    expect(platformOf({ os: 'freebsd', arch: 'amd64' }, 'Mac')).toBe('linux')
    expect(platformOf(undefined, 'Mozilla (Macintosh)')).toBe('darwin')
  })
  it('has sizes as download pages say them', () => expect([523e6, 2_497_293_931, 14e9, 900].map(bytes)).toEqual(['523 MB', '2.5 GB', '14 GB', '1 kB']))
})

describe('probes', () => {
  const verdict = (mode: string | undefined, score: number): Verdict => ({ at: '', times: 1, passed: true, why: 'so', mode, ways: [{ mode: 'native', score: 0.1, fit: false, grades: null }, { mode: 'text', score, fit: true, grades: null }] })
  it('give points of the mode that is used, while the weights are the same', () => {
    expect(points(model('a'))).toBe(-1)
    expect(points(model('a', { probed: verdict('text', 0.976) }))).toBe(98)
    expect(points(model('a', { probed: verdict('native', 1) }))).toBe(10)
    expect(points(model('a', { probed: verdict(undefined, 0) }))).toBe(-1)
    expect(points(model('a', { probed: verdict('text', 1), stale: true }))).toBe(-1)
    expect(points(model('a', { probed: { ...verdict('text', 1), ways: null } }))).toBe(-1)
    expect(t.models.brief(model('a', { probed: verdict('text', 0.5) }))).toContain('50 of 100 in calls')
  })
  it('are found by their model, the latest', () => {
    const p = (id: string, ref: string): Probe => ({ id, ref, status: 'done', doing: '', done: 1, total: 1 })
    const all = [p('1', 'e/a'), p('2', 'e/b'), p('3', 'e/a')]
    expect(probeOf(all, 'e/a')?.id).toBe('3')
    expect(probeOf(all, 'e/c')).toBeUndefined()
    expect(t.probe.ended('a', { ...p('1', 'e/a'), status: 'failed', error: 'It fell.' })).toBe('a could not be probed. It fell.')
    expect(t.probe.ended('a', { ...p('1', 'e/a'), status: 'cancelled' })).toBe('The probe of a was cancelled.')
  })
})
