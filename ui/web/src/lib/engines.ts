// What is known about engines and their models, as pure functions of the server's answer.

import { plain } from './reveal'
import type { Engine, Catalogue, ModelInfo, Probe, Pull, System } from './types'

/** What a new person has before them: no engine, an engine without a model, or something to talk to. */
export type Stage = 'nothing' | 'empty' | 'choose' | 'ready'

export interface Choice {
  engine: Engine
  model: ModelInfo
}

export const engines = (l: Catalogue | null): Engine[] => l?.engines ?? []
export const modelsOf = (e: Engine): ModelInfo[] => e.models ?? []

/** Engines that answer, and what they have. A service on the network is not taken without being asked for. */
const answering = (e: Engine) => e.state === 'ready' || e.state === 'loading'

export function choices(l: Catalogue | null): Choice[] {
  return engines(l).flatMap((engine) => modelsOf(engine).map((model) => ({ engine, model })))
}

export function find(l: Catalogue | null, ref: string): Choice | undefined {
  if (!ref) return undefined
  const all = choices(l)
  // A model may be named without its engine, where only one has it.
  const named = all.filter((c) => c.model.id === ref)
  return all.find((c) => c.model.ref === ref) ?? (named.length === 1 ? named[0] : undefined)
}

/** The model that a new chat talks to: the default, or the only one there is. "" where a person has to choose. */
export function taken(l: Catalogue | null): string {
  if (!l) return ''
  if (l.default) return l.default
  const here = choices(l).filter((c) => answering(c.engine) && c.engine.origin !== 'cloud')
  return here.length === 1 ? here[0]!.model.ref : ''
}

export function stage(l: Catalogue | null): Stage {
  if (!l) return 'nothing'
  if (taken(l)) return 'ready'
  if (choices(l).some((c) => answering(c.engine))) return 'choose'
  if (engines(l).some((e) => e.state === 'no-model' || (e.state === 'ready' && !modelsOf(e).length))) return 'empty'
  return 'nothing'
}

/** Whether models can be fetched into an engine from here. */
export const fetches = (e: Engine): boolean => e.engine === 'ollama' && (e.state === 'ready' || e.state === 'no-model' || e.state === 'loading')

/** A name of a model for one line: without what hides, and not endless. */
export function modelName(l: Catalogue | null, ref: string): string {
  return plain(find(l, ref)?.model.id || ref)
}

/** The groups that a search leaves. Words may be in any order, in the model's or the engine's name. */
export function matching(l: Catalogue | null, query: string): { engine: Engine; models: ModelInfo[] }[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return engines(l)
    .map((engine) => ({
      engine,
      models: modelsOf(engine).filter((m) => {
        const text = `${m.id} ${engine.engine} ${engine.id} ${engine.base_url}`.toLowerCase()
        return words.every((w) => text.includes(w))
      }),
    }))
    .filter((g) => g.models.length || !words.length)
}

/** Models for a first choice: those that call tools first, loaded before cold, then small before large. */
export function ranked(l: Catalogue | null): Choice[] {
  const tri = { yes: 0, unknown: 1, no: 2 }
  return choices(l)
    .filter((c) => answering(c.engine))
    .sort(
      (a, b) =>
        Number(a.engine.origin === 'cloud') - Number(b.engine.origin === 'cloud') ||
        tri[a.model.tools ?? 'unknown'] - tri[b.model.tools ?? 'unknown'] ||
        tri[a.model.loaded ?? 'unknown'] - tri[b.model.loaded ?? 'unknown'] ||
        (a.model.bytes || Infinity) - (b.model.bytes || Infinity) ||
        a.model.ref.localeCompare(b.model.ref),
    )
}

// Fetching

export type PullState = 'active' | 'done' | 'failed' | 'cancelled'

/** Where a download stands, in four words. What the engine calls its steps in between is its own affair. */
export function pullState(p: Pull): PullState {
  if (p.status === 'success') return 'done'
  if (p.status === 'cancelled' || p.status === 'failed') return p.status
  return 'active'
}

/** How far it is, from 0 to 100; -1 where nobody knows. */
export function percent(p: Pull): number {
  if (pullState(p) === 'done') return 100
  return p.total > 0 ? Math.max(0, Math.min(100, Math.floor((p.done / p.total) * 100))) : -1
}

/** The latest download of each model, newest last. */
export function latest(pulls: Pull[] | null | undefined): Pull[] {
  const by = new Map<string, Pull>()
  for (const p of pulls ?? []) {
    by.delete(p.engine + ' ' + p.model)
    by.set(p.engine + ' ' + p.model, p)
  }
  return [...by.values()]
}

// Probing

/** The latest probe of a model, if one is under way or has just ended. */
export const probeOf = (all: Probe[], ref: string): Probe | undefined => all.findLast((p) => p.ref === ref)

/** The points that a model has in the way that it is used in, of 100; -1 where it was not probed, or had other weights then. */
export function points(m: ModelInfo): number {
  const way = m.stale ? undefined : m.probed?.ways?.find((w) => w.mode === m.probed?.mode)
  return way ? Math.round(way.score * 100) : -1
}

// What to begin with

export interface Suggestion {
  name: string
  bytes: number
  fits: boolean | null // null where the machine's memory is not known
  best: boolean
}

const gb = 1e9

// Models that call tools, small enough for a machine that people own. Sizes are those of the downloads in Ollama's library.
const known: [string, number][] = [
  ['qwen3:1.7b', 1.4 * gb],
  ['qwen3:4b', 2.5 * gb],
  ['qwen3:8b', 5.2 * gb],
  ['gpt-oss:20b', 14 * gb],
  ['qwen3:30b', 19 * gb],
]

// Beside the weights there are the window, a fifth of them or so, and what else runs on the machine.
const besides = 1.2
const system = 3 * gb

/** What to fetch, for a machine with so much memory. */
export function suggestions(memory: number): Suggestion[] {
  const fits = (bytes: number) => bytes * besides + system <= memory
  const best = memory > 0 ? known.findLast(([, bytes]) => fits(bytes) && bytes <= 6 * gb)?.[0] : 'qwen3:4b'
  return known.map(([name, bytes]) => ({ name, bytes, fits: memory > 0 ? fits(bytes) : null, best: name === best }))
}

export type Platform = 'linux' | 'darwin' | 'windows'
export const platforms: Platform[] = ['linux', 'darwin', 'windows']

/** The system that the engine is to run on: the server's, not that of the browser. */
export function platformOf(s: System | undefined, agent: string): Platform {
  const said = s?.os
  if (said === 'darwin' || said === 'windows') return said
  if (said) return 'linux'
  return /Win/.test(agent) ? 'windows' : /Mac|iPhone|iPad/.test(agent) ? 'darwin' : 'linux'
}

/** How to get an engine: a command each, to be pasted into a terminal. */
export const installs: Record<Platform, { id: 'ollama' | 'llamacpp' | 'docker'; command: string }[]> = {
  linux: [
    { id: 'ollama', command: 'curl -fsSL https://ollama.com/install.sh | sh' },
    { id: 'docker', command: 'docker run -d --name ollama -v ollama:/root/.ollama -p 127.0.0.1:11434:11434 ollama/ollama' },
    { id: 'llamacpp', command: 'brew install llama.cpp && llama-server -hf Qwen/Qwen3-4B-GGUF --jinja' },
  ],
  darwin: [
    { id: 'ollama', command: 'brew install ollama && brew services start ollama' },
    { id: 'llamacpp', command: 'brew install llama.cpp && llama-server -hf Qwen/Qwen3-4B-GGUF --jinja' },
  ],
  windows: [
    { id: 'ollama', command: 'winget install --id Ollama.Ollama -e' },
    { id: 'llamacpp', command: 'winget install llama.cpp; llama-server -hf Qwen/Qwen3-4B-GGUF --jinja' },
  ],
}
