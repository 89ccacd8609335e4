// The state of the page and everything that changes it. Components read it and call it; it alone talks to the server.

import { ApiError, Client } from './api'
import type { RowAnswer } from './batch'
import { active, empty, reduceAll, skipGap, type Chat } from './chat'
import { duration } from './format'
import { Stream, type Connection } from './sse'
import { kept, tab } from './storage'
import { t } from './strings'
import type { Approval, ApprovalAnswer, Event, Mode, ServerStatus, Session, SessionRow, Turn } from './types'

export type Theme = 'system' | 'light' | 'dark'

export type Dialog =
  | { kind: 'confirm'; title: string; text: string; action: string; danger: boolean; done: (yes: boolean) => void }
  | { kind: 'prompt'; title: string; label: string; value: string; done: (value: string | null) => void }
  | { kind: 'link'; href: string; done: () => void }
  | { kind: 'card'; approval: string; done: () => void }

export interface Toast {
  id: number
  text: string
  bad: boolean
}

const quiet: Connection = { state: 'closed', attempt: 0 }

class App {
  client = new Client()

  signedIn = $state(false)
  signingIn = $state(true)
  loginError = $state('')

  status = $state.raw<ServerStatus | null>(null)
  killed = $state(false)

  rows = $state.raw<SessionRow[]>([])
  rowsLoaded = $state(false)
  limit = $state(100)
  query = $state('')

  desk = $state.raw<Approval[]>([])

  current = $state('') // the open chat; "" is a new one
  session = $state.raw<Session | null>(null)
  chat = $state.raw<Chat>(empty)
  gone = $state(false)
  tour = $state(false) // the recorded job is played in the place of a chat
  queue = $state.raw<Turn[]>([])
  stopping = $state('') // the chat whose stop was asked for

  world = $state.raw<Connection>(quiet) // the stream over all chats
  line = $state.raw<Connection>(quiet) // the stream of the open chat

  dialog = $state.raw<Dialog | null>(null)
  toasts = $state.raw<Toast[]>([])
  polite = $state('')
  urgent = $state('')
  now = $state(Date.now())
  theme = $state<Theme>((kept.get('theme') as Theme) || 'system')

  #worldStream: Stream | null = null
  #chatStream: Stream | null = null
  #worldReady = false
  #seq = Number(tab.get('seq')) || 0 // a reloaded page need not read the past of all chats again
  #pending: Event[] = []
  #flushing = false
  #gap = 0
  #chats = new Map<string, Chat>()
  #listTimer: ReturnType<typeof setTimeout> | undefined
  #hideTimer: ReturnType<typeof setTimeout> | undefined
  #answering = new Set<string>()
  #fetching = new Set<string>()
  #toast = 0

  /** What the connection is, in one word for the whole page. */
  connection = $derived.by((): Connection => {
    const lines = this.line.state === 'closed' ? [this.world] : [this.world, this.line]
    return lines.find((l) => l.state === 'offline') ?? lines.find((l) => l.state === 'connecting') ?? this.world
  })

  running = $derived(active(this.chat))
  cards = $derived(this.desk.filter((a) => a.session === this.current && this.current !== ''))

  constructor() {
    this.client.onUnauthorized = () => this.signOut(t.login.expired)
  }

  // Signing in

  async boot(): Promise<void> {
    const code = /^#code=([^&]+)/.exec(location.hash)?.[1]
    if (code !== undefined) history.replaceState(null, '', location.pathname)
    window.addEventListener('hashchange', () => this.#route())
    window.addEventListener('online', () => this.#wake())
    document.addEventListener('visibilitychange', () => this.#visible())
    setInterval(() => {
      if (!document.hidden) this.now = Date.now()
    }, 1000)

    let token = tab.get('token')
    if (code !== undefined) {
      try {
        const res = await this.client.post<{ token: string }>('/api/login', { code: decodeURIComponent(code) })
        token = res.token
        this.loginError = ''
      } catch (e) {
        if (!token) this.loginError = e instanceof ApiError && e.offline ? t.offline : t.login.codeUsed
      }
    }
    if (token) await this.signIn(token)
    this.signingIn = false
  }

  async signIn(token: string): Promise<boolean> {
    const probe = new Client(token)
    try {
      this.#setStatus(await probe.get<ServerStatus>('/api/status'))
    } catch (e) {
      const refused = e instanceof ApiError && e.status === 401
      if (refused) tab.set('token', '')
      this.loginError = refused ? t.login.wrong : say(e)
      return false
    }
    tab.set('token', token)
    this.client.token = token
    this.loginError = ''
    this.signedIn = true
    this.#openWorld()
    this.refreshSessions()
    this.refreshDesk()
    this.#route()
    return true
  }

  signOut(why = ''): void {
    if (!this.signedIn) return
    this.signedIn = false
    this.loginError = why
    this.client.token = ''
    tab.set('token', '')
    this.#worldStream?.close()
    this.#closeChat()
    this.#chats.clear()
    this.rows = []
    this.rowsLoaded = false
    this.desk = []
    this.dialog = null
    this.#seq = 0
    tab.set('seq', '')
  }

  #setStatus(status: ServerStatus): void {
    this.status = status
    this.killed = status.killed
  }

  async refreshStatus(): Promise<void> {
    try {
      this.#setStatus(await this.client.get<ServerStatus>('/api/status'))
    } catch {
      // The connection says it already.
    }
  }

  // The list of chats

  async refreshSessions(): Promise<void> {
    clearTimeout(this.#listTimer)
    this.#listTimer = undefined
    const query = this.query.trim()
    const params = new URLSearchParams({ limit: String(this.limit) })
    if (query) params.set('search', query)
    try {
      const rows = (await this.client.get<SessionRow[] | null>('/api/sessions?' + params)) ?? []
      if (query !== this.query.trim()) return
      this.rows = rows
      this.rowsLoaded = true
      const row = rows.find((r) => r.id === this.current)
      if (row && this.session?.id === row.id) this.session = row
    } catch (e) {
      if (e instanceof ApiError && !e.offline && e.status !== 401) this.toast(say(e), true)
    }
  }

  #listSoon(): void {
    this.#listTimer ??= setTimeout(() => this.refreshSessions(), 300)
  }

  search(query: string): void {
    this.query = query
    clearTimeout(this.#listTimer)
    this.#listTimer = setTimeout(() => this.refreshSessions(), 200)
  }

  showMore(): void {
    this.limit *= 4
    this.refreshSessions()
  }

  #patchRow(id: string, patch: Partial<SessionRow>): void {
    if (!this.rows.some((r) => r.id === id)) {
      this.#listSoon()
      return
    }
    this.rows = this.rows.map((r) => (r.id === id ? { ...r, ...patch } : r))
  }

  async rename(session: SessionRow): Promise<void> {
    const title = await this.prompt(t.nav.renameTitle, t.nav.renameLabel, session.title)
    if (title === null || title.trim() === session.title) return
    await this.try(async () => {
      const now = await this.client.patch<Session>(`/api/sessions/${session.id}`, { title: title.trim() })
      this.#patchRow(session.id, { title: now.title })
      if (this.session?.id === now.id) this.session = { ...this.session, title: now.title }
    })
  }

  async remove(session: SessionRow): Promise<void> {
    const title = session.title || t.nav.untitled
    if (!(await this.confirm(t.nav.deleteTitle, t.nav.deleteText(title), t.nav.delete, true))) return
    await this.try(async () => {
      await this.client.delete(`/api/sessions/${session.id}`)
      this.rows = this.rows.filter((r) => r.id !== session.id)
      this.desk = this.desk.filter((a) => a.session !== session.id)
      this.#chats.delete(session.id)
      kept.set('draft.' + session.id, '')
      if (this.current === session.id) this.go('')
    })
  }

  async fork(session: SessionRow): Promise<void> {
    await this.try(async () => {
      const copy = await this.client.post<Session>(`/api/sessions/${session.id}/fork`, {})
      await this.refreshSessions()
      this.go(copy.id)
    })
  }

  async export(session: SessionRow): Promise<void> {
    await this.try(async () => {
      const all = await this.client.get<unknown>(`/api/sessions/${session.id}/export`)
      const url = URL.createObjectURL(new Blob([JSON.stringify(all, null, 2)], { type: 'application/json' }))
      const a = document.createElement('a')
      a.href = url
      a.download = `${(session.title || session.id).replace(/[^\p{L}\p{N}_-]+/gu, '-').slice(0, 60)}.json`
      a.click()
      setTimeout(() => URL.revokeObjectURL(url), 10_000)
    })
  }

  // Where the page is

  go(session: string): void {
    const hash = session ? '#/s/' + session : '#/'
    if (location.hash === hash) this.#route()
    else location.hash = hash
  }

  #route(): void {
    if (!this.signedIn) return
    const id = /^#\/s\/([\w-]+)$/.exec(location.hash)?.[1] ?? ''
    this.tour = location.hash === '#/tour'
    if (id === this.current && (id === '' || this.#chatStream)) return
    this.#closeChat()
    this.current = id
    this.gone = false
    if (id) this.#openChat(id)
  }

  #closeChat(): void {
    this.#flush()
    if (this.current && this.chat.last) {
      this.#chats.delete(this.current)
      this.#chats.set(this.current, this.chat)
      for (const old of this.#chats.keys()) {
        if (this.#chats.size <= 6) break
        this.#chats.delete(old)
      }
    }
    this.#chatStream?.close()
    this.#chatStream = null
    this.current = ''
    this.chat = empty
    this.session = null
    this.queue = []
  }

  #openChat(id: string): void {
    this.chat = { ...(this.#chats.get(id) ?? empty), ready: false }
    this.session = this.rows.find((r) => r.id === id) ?? null
    this.#gap = 0
    this.#openLine(id)
    this.client
      .get<Session>(`/api/sessions/${id}`)
      .then((session) => {
        if (this.current === id) this.session = session
      })
      .catch((e) => {
        if (this.current === id && e instanceof ApiError && e.status === 404) this.gone = true
      })
    this.refreshQueue()
  }

  #openLine(id: string): void {
    this.#chatStream = new Stream({
      url: `/api/sessions/${id}/events`,
      headers: () => this.client.headers(),
      cursor: () => {
        this.#flush()
        return this.chat.last
      },
      onState: (state) => {
        if (this.current === id) this.line = state
      },
      onRefused: (status) => this.#refused(status, id),
      onEvent: (event) => {
        if (this.current !== id) return
        if (event.type === 'ready' && typeof event.data?.id === 'number') {
          this.#flush()
          if (event.data.id < this.chat.last) {
            // The server's log is shorter than ours: it is another log.
            this.chat = empty
            this.#chatStream?.reconnect()
            return
          }
        }
        this.#pending.push(event)
        this.#flushSoon(event.type === 'ready')
      },
    })
  }

  #refused(status: number, session: string): boolean {
    if (status === 401) {
      this.signOut(t.login.expired)
      return false
    }
    if (session && status === 404) {
      this.gone = true
      return false
    }
    if (status === 410) {
      if (session) this.chat = empty
      else this.#seq = 0
    }
    return true
  }

  // The open chat

  #flushSoon(now: boolean): void {
    if (now) {
      this.#flush()
      return
    }
    if (this.#flushing) return
    this.#flushing = true
    // One repaint for all that came meanwhile: a replay at its end, unless it is long; and hidden pages take their time.
    setTimeout(() => this.#flush(), document.hidden ? 250 : this.chat.ready ? 40 : 400)
  }

  #flush(): void {
    this.#flushing = false
    if (!this.#pending.length) return
    const events = this.#pending
    this.#pending = []
    const wasReady = this.chat.ready
    this.chat = reduceAll(this.chat, events)
    if (this.chat.gap) {
      // Ask for what is missing once; if the server has nothing there, go on without.
      if (this.#gap === this.chat.gap) this.chat = skipGap(this.chat)
      else this.#gap = this.chat.gap
      this.#chatStream?.reconnect()
      return
    }
    if (!wasReady && this.chat.ready) {
      this.refreshQueue()
      for (const open of this.chat.open) this.#fetchCard(open.approval)
    }
    if (wasReady) for (const event of events) this.#live(event)
  }

  /** What a live event of the open chat does beside the conversation. */
  #live(event: Event): void {
    const d = event.data ?? {}
    switch (event.type) {
      case 'turn.start':
        if (!event.parent) this.refreshQueue()
        break
      case 'turn.end':
        if (event.parent) break
        this.stopping = ''
        this.polite = d.status === 'done' ? t.chat.turnDone : [t.turn.status[d.status], d.reason].filter(Boolean).join(': ')
        this.refreshQueue()
        break
      case 'queue.changed':
        this.refreshQueue()
        break
      case 'mode':
        if (this.session) this.session = { ...this.session, mode: d.mode }
        break
      case 'label':
        if (this.session) this.session = { ...this.session, labels: d.labels, ungated: !!d.ungated }
        break
      case 'tool.approval_needed':
        this.#fetchCard(d.approval)
        break
      case 'tool.approval_extended':
        this.#extended(d.approval, d.expires)
        break
      case 'tool.approved':
      case 'tool.denied':
      case 'tool.expired':
      case 'tool.cancelled':
        this.#closeCard(d.approval, d.by ?? '', event.type)
        break
      case 'killed':
        this.killed = !!d.on
        break
    }
  }

  async refreshQueue(): Promise<void> {
    const id = this.current
    if (!id) return
    try {
      const queue = (await this.client.get<Turn[] | null>(`/api/sessions/${id}/queue`)) ?? []
      if (this.current === id) this.queue = queue
    } catch {
      // It is asked for again with the next change.
    }
  }

  async create(workspace: string, mode: Mode, model = ''): Promise<string> {
    const session = await this.client.post<Session>('/api/sessions', {
      ...(workspace ? { workspace } : {}),
      ...(mode ? { mode } : {}),
      ...(model ? { model } : {}),
    })
    this.rows = [{ ...session, status: 'idle' }, ...this.rows.filter((r) => r.id !== session.id)]
    return session.id
  }

  /** Sends a prompt; says how it was taken. */
  async send(session: string, prompt: string, o: { when?: 'queue' | 'steer'; plan?: boolean; guide?: boolean; attachments?: string[] }): Promise<void> {
    const res = await this.client.post<{ turn: Turn; queued: boolean; steered: boolean }>(`/api/sessions/${session}/turns`, {
      prompt,
      onAsk: 'wait',
      tz: Intl.DateTimeFormat().resolvedOptions().timeZone,
      ...(o.when ? { when: o.when } : {}),
      ...(o.plan ? { plan: true } : {}),
      ...(o.guide ? { guide: true } : {}),
      ...(o.attachments?.length ? { attachments: o.attachments } : {}),
    })
    if (o.when === 'steer' && !res.steered) this.polite = t.composer.steerTooLate
    if (res.queued) this.refreshQueue()
    this.#listSoon()
  }

  async continue(turn: string): Promise<void> {
    const id = this.current
    await this.try(() => this.client.post(`/api/sessions/${id}/turns`, { continue: turn, onAsk: 'wait' }))
  }

  async stop(session = this.current): Promise<void> {
    if (!session) return
    this.stopping = session
    this.polite = t.composer.stopping
    const ok = await this.try(async () => {
      const res = await this.client.post<{ stopped: string[] | null }>(`/api/sessions/${session}/stop`, {})
      if (!res.stopped?.length) this.stopping = ''
    })
    if (!ok) this.stopping = ''
  }

  async setMode(mode: Mode): Promise<void> {
    const id = this.current
    await this.try(async () => {
      const session = await this.client.patch<Session>(`/api/sessions/${id}`, { mode })
      if (this.current === id) this.session = { ...(this.session ?? session), mode: session.mode }
      this.#patchRow(id, { mode: session.mode })
    })
    // What did not work is put back on the screen, too.
    if (this.session) this.session = { ...this.session }
  }

  /** Another model from the next request on. */
  async setModel(model: string): Promise<boolean> {
    const id = this.current
    return this.try(async () => {
      const session = await this.client.patch<Session>(`/api/sessions/${id}`, { model })
      if (this.current === id) this.session = { ...(this.session ?? session), model: session.model }
      this.#patchRow(id, { model: session.model })
    })
  }

  // The taint gate of this chat: only a person switches it, and the chip says so for as long as it is off.
  async setUngated(ungated: boolean): Promise<boolean> {
    const id = this.current
    return this.try(async () => {
      const session = await this.client.patch<Session>(`/api/sessions/${id}`, { ungated })
      if (this.current === id) this.session = { ...(this.session ?? session), ungated: session.ungated }
    })
  }

  async editQueued(turn: string, prompt: string): Promise<void> {
    await this.try(() => this.client.patch(`/api/sessions/${this.current}/queue/${turn}`, { prompt }))
    this.refreshQueue()
  }

  async dropQueued(turn: string): Promise<void> {
    await this.try(() => this.client.delete(`/api/sessions/${this.current}/queue/${turn}`))
    this.refreshQueue()
  }

  async kill(): Promise<void> {
    if (!(await this.confirm(t.kill.title, t.kill.text, t.kill.confirm, true))) return
    await this.try(async () => {
      const res = await this.client.post<{ killed: boolean }>('/api/stop', {})
      this.killed = res.killed
    })
  }

  async lift(): Promise<void> {
    await this.try(async () => {
      const res = await this.client.post<{ killed: boolean }>('/api/stop', { lift: true })
      this.killed = res.killed
    })
  }

  // Cards

  async refreshDesk(): Promise<void> {
    try {
      this.desk = sorted((await this.client.get<Approval[] | null>('/api/tools/approvals')) ?? [])
    } catch {
      // Asked for again with the next connection.
    }
  }

  async #fetchCard(id: string): Promise<void> {
    if (!id || this.#fetching.has(id) || this.desk.some((a) => a.id === id)) return
    this.#fetching.add(id)
    try {
      const card = await this.client.get<Approval>('/api/tools/approvals/' + encodeURIComponent(id))
      if (card.state !== 'pending') return
      if (!this.desk.some((a) => a.id === id)) this.desk = sorted([...this.desk, card])
      this.urgent = t.card.opened(card.title)
    } catch (e) {
      if (e instanceof ApiError && !e.offline && e.status !== 404) this.toast(say(e), true)
    } finally {
      this.#fetching.delete(id)
    }
  }

  #closeCard(id: string, by: string, type: string): void {
    if (!this.desk.some((a) => a.id === id)) return
    this.desk = this.desk.filter((a) => a.id !== id)
    if (this.#answering.has(id)) return
    if (type === 'tool.approved' || type === 'tool.denied') this.polite = t.card.answeredBy(by)
  }

  /** Answers a card. Gives the sentence to show on it if it was not taken and stays open. */
  async answer(card: Approval, answer: ApprovalAnswer): Promise<string> {
    this.#answering.add(card.id)
    try {
      await this.client.post('/api/tools/approvals/' + encodeURIComponent(card.id), answer)
      this.desk = this.desk.filter((a) => a.id !== card.id)
      return ''
    } catch (e) {
      if (e instanceof ApiError && (e.status === 409 || e.status === 410 || e.status === 404)) {
        // It may be closed, or the answer may be one that is not offered; the row knows.
        try {
          const now = await this.client.get<Approval>('/api/tools/approvals/' + encodeURIComponent(card.id))
          if (now.state === 'pending') return say(e)
        } catch {
          // Gone is closed, too.
        }
        this.desk = this.desk.filter((a) => a.id !== card.id)
        this.toast(e.status === 410 ? t.step.expiredHelp : e.by ? t.card.answeredBy(e.by) : e.message || t.card.answeredBy(''), true)
        return ''
      }
      return say(e)
    } finally {
      // The event of this answer may come a little later than its response.
      setTimeout(() => this.#answering.delete(card.id), 5000)
    }
  }

  /** Answers several cards, each by itself. Gives what to show of those that were not taken and stay open, by their ids. */
  async answerAll(answers: RowAnswer[]): Promise<{ all: string; rows: Record<string, string> }> {
    for (const a of answers) this.#answering.add(a.id)
    const rows: Record<string, string> = {}
    try {
      const list = await this.client.post<{ id: string; status: number; problem?: { detail?: string; by?: string } }[]>('/api/tools/approvals', { answers })
      let closed = 0
      for (const r of list) {
        if (r.problem && r.status !== 404 && r.status !== 410 && !(r.status === 409 && r.problem.by)) rows[r.id] = r.problem.detail ?? t.batch.failed(1)
        else if (r.problem) closed++
      }
      this.desk = this.desk.filter((a) => rows[a.id] !== undefined || !list.some((r) => r.id === a.id))
      if (closed) this.toast(t.batch.failed(closed) + ' ' + t.card.answeredBy(list.find((r) => r.problem?.by)?.problem?.by ?? ''), true)
      return { all: '', rows }
    } catch (e) {
      return { all: say(e), rows }
    } finally {
      setTimeout(() => answers.forEach((a) => this.#answering.delete(a.id)), 5000)
    }
  }

  /** Lets a card wait longer. Gives the sentence to show if it does not. */
  async extend(card: Approval): Promise<string> {
    try {
      const now = await this.client.post<Approval>('/api/tools/approvals/' + encodeURIComponent(card.id) + '/extend', {})
      this.#extended(now.id, now.expires)
      this.polite = t.card.longerDone(duration(Date.parse(now.expires) - this.now))
      return ''
    } catch (e) {
      return say(e)
    }
  }

  #extended(id: string, expires: string): void {
    this.desk = this.desk.map((a) => (a.id === id ? { ...a, expires } : a))
  }

  // All chats

  #openWorld(): void {
    this.#worldReady = false
    this.#worldStream = new Stream({
      // What was before this page came is asked for by itself; the stream tells what comes.
      url: '/api/events?tail=true',
      headers: () => this.client.headers(),
      cursor: () => {
        this.#worldReady = false
        return this.#seq
      },
      onState: (state) => (this.world = state),
      onRefused: (status) => this.#refused(status, ''),
      onEvent: (event) => {
        if (event.seq) this.#seq = Math.max(this.#seq, event.seq)
        if (event.type === 'ready') {
          if (typeof event.data?.id === 'number') this.#seq = event.data.id
          tab.set('seq', String(this.#seq))
          this.#worldReady = true
          this.refreshSessions()
          this.refreshDesk()
          this.refreshStatus()
        } else if (this.#worldReady) this.#hear(event)
      },
    })
  }

  /** What an event of any chat does to the list and the desk. */
  #hear(event: Event): void {
    const id = event.session ?? ''
    const d = event.data ?? {}
    const main = !event.parent
    switch (event.type) {
      case 'turn.start':
        if (main) this.#patchRow(id, { status: 'running', updated: event.ts ?? '' })
        this.#listSoon()
        break
      case 'turn.status':
        if (main) this.#patchRow(id, { status: d.status })
        break
      case 'turn.end':
        if (main) this.#patchRow(id, { status: 'idle', updated: event.ts ?? '' })
        this.#listSoon()
        break
      case 'queue.changed':
      case 'mode':
      case 'label':
        this.#listSoon()
        break
      case 'tool.approval_needed':
        this.#patchRow(id, { status: 'waiting' })
        this.#fetchCard(d.approval)
        break
      case 'tool.approval_extended':
        this.#extended(d.approval, d.expires)
        break
      case 'tool.approved':
      case 'tool.denied':
      case 'tool.expired':
      case 'tool.cancelled':
        this.#closeCard(d.approval, d.by ?? '', event.type)
        break
      case 'killed':
        this.killed = !!d.on
        break
    }
  }

  /** Browsers allow a handful of lines to one server, so a page that nobody looks at keeps only the one over all chats. */
  #visible(): void {
    clearTimeout(this.#hideTimer)
    if (document.hidden) {
      this.#hideTimer = setTimeout(() => {
        if (!document.hidden || !this.#chatStream) return
        this.#flush()
        this.#chatStream.close()
        this.#chatStream = null
      }, 20_000)
      return
    }
    this.now = Date.now()
    if (this.signedIn && this.current && !this.gone && !this.#chatStream) {
      this.chat = { ...this.chat, ready: false }
      this.#openLine(this.current)
    }
    this.#wake()
  }

  #wake(): void {
    if (this.world.state === 'offline' || this.world.state === 'connecting') this.#worldStream?.reconnect()
    if (this.line.state === 'offline' || this.line.state === 'connecting') this.#chatStream?.reconnect()
  }

  // Small things

  setTheme(theme: Theme): void {
    this.theme = theme
    kept.set('theme', theme === 'system' ? '' : theme)
    if (theme === 'system') delete document.documentElement.dataset.theme
    else document.documentElement.dataset.theme = theme
  }

  toast(text: string, bad = false): void {
    if (!text || this.toasts.some((x) => x.text === text)) return
    const id = ++this.#toast
    this.toasts = [...this.toasts, { id, text, bad }]
    setTimeout(() => this.dropToast(id), bad ? 10_000 : 5000)
  }

  dropToast(id: number): void {
    this.toasts = this.toasts.filter((x) => x.id !== id)
  }

  /** Does something; what goes wrong is shown. */
  async try(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (e) {
      this.toast(say(e), true)
      return false
    }
  }

  confirm(title: string, text: string, action: string, danger = false): Promise<boolean> {
    return new Promise((resolve) => {
      this.dialog = {
        kind: 'confirm', title, text, action, danger,
        done: (yes) => {
          this.dialog = null
          resolve(yes)
        },
      }
    })
  }

  prompt(title: string, label: string, value: string): Promise<string | null> {
    return new Promise((resolve) => {
      this.dialog = {
        kind: 'prompt', title, label, value,
        done: (v) => {
          this.dialog = null
          resolve(v)
        },
      }
    })
  }

  link(href: string): void {
    this.dialog = { kind: 'link', href, done: () => (this.dialog = null) }
  }

  card(approval: string): void {
    this.dialog = { kind: 'card', approval, done: () => (this.dialog = null) }
  }
}

const sorted = (cards: Approval[]) => cards.filter((a) => a.state === 'pending').sort((a, b) => a.created.localeCompare(b.created) || a.id.localeCompare(b.id))

/** An error as a sentence. */
export function say(e: unknown): string {
  if (e instanceof ApiError) return e.offline ? t.offline : e.message
  return e instanceof Error ? e.message : String(e)
}

export const app = new App()
