// The engines and models of the server, and what a person does with them.

import { app, say } from './app.svelte'
import { latest, modelName, percent, pullState, stage, taken } from './engines'
import { plain } from './reveal'
import { t } from './strings'
import type { Engine, Catalogue, Probe, Pull } from './types'

/** What the dialog for an engine begins with. */
export interface Adding {
  base_url: string
  api: string
  name: string
}

/** What a person types into it. The key stays in the form, and is sent once. */
export interface Address {
  base_url: string
  api?: string
  name?: string
  key?: string
}

// How often a download is looked at, in ms: often enough to see it move.
const watchEvery = 700

class Models {
  listing = $state.raw<Catalogue | null>(null)
  pulls = $state.raw<Pull[]>([])
  probes = $state.raw<Probe[]>([])
  looking = $state(false)
  error = $state('')
  adding = $state.raw<Adding | null>(null)

  stage = $derived(stage(this.listing))
  /** What a new chat talks to unless another model is chosen for it. */
  taken = $derived(taken(this.listing))

  #timer: ReturnType<typeof setTimeout> | undefined
  #probing: ReturnType<typeof setTimeout> | undefined
  #told = new Map<string, string>()
  #asked = 0

  /** Asks for what there is; look makes the server look again itself. */
  async load(look = false): Promise<void> {
    const asked = ++this.#asked
    this.looking = true
    if (look) app.polite = t.first.looking
    try {
      const listing = await app.client.get<Catalogue>('/api/models' + (look ? '?refresh=true' : ''))
      if (asked !== this.#asked) return
      this.listing = listing
      this.error = ''
      this.#watch(listing.pulls)
      this.#follow(listing.probes ?? [])
      if (look) app.polite = t.first.stages[this.stage] ?? ''
    } catch (e) {
      if (asked === this.#asked) this.error = say(e)
    } finally {
      if (asked === this.#asked) this.looking = false
    }
  }

  /** Forgets everything, as after signing out. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    clearTimeout(this.#probing)
    this.#probing = undefined
    this.probes = []
    this.#asked++
    this.listing = null
    this.pulls = []
    this.adding = null
    this.looking = false
    this.error = ''
  }

  name(ref: string): string {
    return modelName(this.listing, ref)
  }

  async makeDefault(ref: string): Promise<boolean> {
    return app.try(async () => {
      await app.client.put('/api/models/default', { ref })
      if (this.listing) this.listing = { ...this.listing, default: ref }
      app.polite = t.models.nowDefault(this.name(ref))
      await this.load()
      app.refreshStatus()
    })
  }

  // Engines

  add(from: Partial<Adding> = {}): void {
    this.adding = { base_url: '', api: '', name: '', ...from }
  }

  /** Tries an address without keeping it. */
  test(a: Address): Promise<Engine> {
    return app.client.post<Engine>('/api/models/test', a)
  }

  async retest(id: string): Promise<void> {
    await app.try(async () => {
      const now = await app.client.post<Engine>('/api/models/test', { id })
      app.polite = t.models.sentence(now)
      this.#replace(id, now)
    })
  }

  async save(a: Address): Promise<void> {
    const made = await app.client.post<Engine>('/api/models', a)
    app.polite = t.models.sentence(made)
    await this.load()
  }

  async forget(e: Engine): Promise<void> {
    if (!(await app.confirm(t.models.forgetTitle, t.models.forgetText(plain(e.base_url)), t.remove, true))) return
    await app.try(async () => {
      await app.client.delete('/api/models/' + encodeURIComponent(e.id))
      await this.load()
    })
  }

  #replace(id: string, now: Engine): void {
    const all = this.listing?.engines ?? []
    if (this.listing) this.listing = { ...this.listing, engines: all.map((e) => (e.id === id ? { ...now, id } : e)) }
  }

  // Fetching and removing models

  async pull(engine: string, model: string): Promise<void> {
    const name = model.trim()
    if (!name) return
    await app.try(async () => {
      const pull = await app.client.post<Pull>('/api/models/pull', { engine, model: name })
      this.#watch([...this.pulls.filter((p) => p.id !== pull.id), pull])
    })
  }

  /** Stops a download, or takes one that has ended off the list. */
  async cancel(pull: Pull): Promise<void> {
    await app.try(async () => {
      await app.client.delete('/api/models/pulls/' + encodeURIComponent(pull.id))
      await this.#look()
    })
  }

  async removeModel(ref: string): Promise<void> {
    if (!(await app.confirm(t.models.deleteTitle, t.models.deleteText(this.name(ref)), t.nav.delete, true))) return
    await app.try(async () => {
      await app.client.post('/api/models/remove', { ref })
      await this.load()
    })
  }

  // Probing

  async probe(ref: string): Promise<void> {
    await app.try(async () => {
      const probe = await app.client.post<Probe>('/api/models/probe', { ref })
      app.polite = t.probe.started(this.name(ref))
      this.#follow([...this.probes.filter((p) => p.id !== probe.id), probe])
    })
  }

  /** Ends a probe, or takes one that has ended off the list. */
  async cancelProbe(probe: Probe): Promise<void> {
    await app.try(async () => {
      await app.client.delete('/api/models/probes/' + encodeURIComponent(probe.id))
      await this.#lookProbes()
    })
  }

  #follow(probes: Probe[]): void {
    const before = this.probes
    this.probes = probes
    const ended = probes.filter((p) => p.status !== 'running' && before.some((b) => b.id === p.id && b.status === 'running'))
    for (const p of ended) app.polite = t.probe.ended(this.name(p.ref), p)
    if (ended.length) this.load() // the card is another now
    clearTimeout(this.#probing)
    this.#probing = probes.some((p) => p.status === 'running') ? setTimeout(() => this.#lookProbes(), watchEvery) : undefined
  }

  async #lookProbes(): Promise<void> {
    try {
      this.#follow((await app.client.get<Probe[] | null>('/api/models/probes')) ?? [])
    } catch {
      // The connection says it; it is looked at again.
      clearTimeout(this.#probing)
      if (app.signedIn) this.#probing = setTimeout(() => this.#lookProbes(), watchEvery * 4)
    }
  }

  #watch(pulls: Pull[] | null): void {
    const before = this.pulls
    this.pulls = latest(pulls)
    for (const p of this.pulls) this.#tell(p)
    const finished = this.pulls.some((p) => pullState(p) === 'done' && before.some((b) => b.id === p.id && pullState(b) === 'active'))
    if (finished) this.load(true)
    clearTimeout(this.#timer)
    this.#timer = this.pulls.some((p) => pullState(p) === 'active') ? setTimeout(() => this.#look(), watchEvery) : undefined
  }

  async #look(): Promise<void> {
    try {
      const now = await app.client.get<Pull[] | { pulls: Pull[] | null } | null>('/api/models/pulls')
      this.#watch(Array.isArray(now) ? now : (now?.pulls ?? []))
    } catch {
      // The connection says it; it is looked at again.
      clearTimeout(this.#timer)
      if (app.signedIn) this.#timer = setTimeout(() => this.#look(), watchEvery * 4)
    }
  }

  /** Says each quarter once, to those who do not see the bar. */
  #tell(p: Pull): void {
    const state = pullState(p)
    const quarter = Math.floor(percent(p) / 25) * 25
    const words =
      state === 'active' ? (quarter >= 0 ? t.pull.progress(plain(p.model), quarter) : t.pull.started(plain(p.model))) : t.pull.ended[state]!(plain(p.model))
    const had = this.#told.get(p.id)
    if (had === words) return
    this.#told.set(p.id, words)
    // What ended before this page came is no news.
    if (had !== undefined || state === 'active') app.polite = words
  }
}

export const models = new Models()
