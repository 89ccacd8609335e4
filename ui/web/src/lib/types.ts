// The JSON that the server speaks, named as it names it.

export type Mode = 'plan' | 'ask' | 'allow-reads' | 'allow-edits' | 'allow-all'
export type Status = 'queued' | 'running' | 'waiting' | 'done' | 'stopped' | 'step-limit' | 'failed' | 'interrupted'
export type Outcome = 'denied' | 'ok' | 'error' | 'expired' | 'cancelled' | 'unknown'
export type Scope = 'once' | 'task' | 'chat' | 'workspace'
export type OnAsk = 'deny' | 'fail' | 'wait'
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface Labels {
  tainted: boolean
  private: boolean
}

export interface Session {
  id: string
  title: string
  workspace: string
  mode: Mode
  model?: string
  labels: Labels
  ungated?: boolean // a person switched the taint gate off
  created: string
  updated: string
}

export type RowStatus = 'idle' | 'running' | 'waiting' | 'queued'

export interface SessionRow extends Session {
  status: RowStatus
  last?: string
}

export interface Usage {
  prompt: number
  cached: number
  cached_of?: number // missing where no engine tells what comes from its cache
  completion: number
  steps: number
  calls: number
}

/** A file that was given to a chat; its type is what the server saw in its bytes. */
export interface Attachment {
  id: string
  session: string
  name: string
  type: string
  size: number
  chars: number
  note?: string
  created: string
}

export interface Crumb {
  name: string
  path: string
}

export interface Listing {
  path: string
  above: Crumb[]
  folders: Crumb[]
  more: number
}

export interface Look {
  path: string
  fits: boolean
  why: string
  writable: boolean
  trusted: boolean
  git: boolean
  guide: number
  protected: string[]
  entries: number
}

export interface Turn {
  id: string
  session: string
  parent?: string
  prompt: string
  options?: { plan?: boolean; guide?: boolean; attachments?: string[] }
  status: Status
  answer?: string
  reason?: string
  usage?: Usage
  created: string
}

export interface Diff {
  path: string
  to?: string
  change: string
  added: number
  gone: number
  patch?: string
}

export interface View {
  shape: 'text' | 'diff' | 'table' | 'terminal' | 'list'
  text?: string
  exit?: number
  files?: Diff[]
  head?: string[]
  rows?: string[][]
}

export interface Call {
  id: string
  session: string
  turn?: string
  step: number
  name: string
  args: Json
  state: string
  outcome: Outcome
  text?: string
  view?: View
  source?: string
  origin?: string
  cut?: number
  by?: string
  ms: number
}

export interface Touch {
  effect: string[]
  kind: 'path' | 'host' | 'command' | string
  name: string
  refused?: string
  exists?: boolean
}

export interface Question {
  text: string
  options?: string[]
  many?: boolean
}

// What holds the processes of a call, and what it opens to them besides the workspace.
export interface Sandbox {
  level: 'none' | 'landlock' | 'namespaces'
  leaks?: string
  hosts?: string[]
  read?: string[]
  write?: string[]
  repository?: boolean
}

export interface Approval {
  id: string
  kind: 'call' | 'question'
  session: string
  turn?: string
  step: number
  call: string
  tool: string
  title: string
  args: Json
  effects: string[]
  touches: Touch[] | null
  labels?: Labels
  sandbox?: Sandbox
  view: View
  risk: string
  why: string
  rule: string
  scopes: Scope[] | null
  covers?: string
  pattern?: string
  folder: string
  undo?: string
  questions?: Question[]
  created: string
  expires: string
  state: 'pending' | 'approved' | 'denied' | 'expired' | 'cancelled' | 'used'
  answer?: { yes: boolean; scope?: Scope; reason?: string; by?: string; at?: string }
}

export interface ApprovalAnswer {
  approved?: boolean
  scope?: Scope
  /** What a yes beyond once covers, where that is not what the card says. */
  pattern?: string
  /** Said twice: a rule for the workspace, or high risk among several answers. */
  confirm?: boolean
  reason?: string
  args?: Json
  answers?: string[][]
  declined?: boolean
}

export interface PlanStep {
  text: string
  state?: 'pending' | 'active' | 'done'
}

export interface Change {
  path: string
  change: string
  added: number
  gone: number
  lost?: string // why it cannot be undone
}

/** What an undo of one file would do, or did. */
export interface Undoing {
  path: string
  does: string // restore, delete, nothing
  state: 'ready' | 'done' | 'already' | 'conflict' | 'cannot'
  why?: string
  change: string
  added: number
  gone: number
  patch?: string
}

export interface DeniedAs {
  call: string
  name: string
  title: string
  outcome: Outcome
  by: string
  reason: string
}

export interface Problem {
  kind: string
  text: string
}

export interface Event<T = any> {
  v?: number
  id?: number
  seq?: number
  ts?: string
  session?: string
  turn?: string
  parent?: string
  type: string
  data: T
}

export interface ServerStatus {
  version: string
  model: {
    name: string
    window: number
    assumed?: boolean
    mode: string
    vision?: boolean
    base_url?: string
    ready: boolean
    why?: string
  }
  killed: boolean
  sandbox: string
  workspace: string
  modes: Mode[]
  system?: System
}

/** The machine that the server runs on. */
export interface System {
  os: string
  arch: string
  memory?: number // bytes; absent or 0 where it is not known
}

export type Known = 'unknown' | 'no' | 'yes'
export type EngineState = 'ready' | 'loading' | 'needs-key' | 'no-model' | 'down' | 'unknown'
export type EngineAPI = 'ollama' | 'openai' | 'anthropic' | 'responses'

export interface ModelInfo {
  ref: string
  id: string
  mode?: string
  window?: number
  window_assumed?: boolean
  trained?: number
  tools?: Known
  thinking?: Known
  vision?: Known
  loaded?: Known
  remote?: Known
  bytes?: number
  digest?: string
  tool_budget?: number
  step_budget?: number
  reads?: number // tokens of a prompt a second
  writes?: number // and of an answer
  source?: Record<string, string> // who told a field: engine, owner, probe, use
  probed?: Verdict
  stale?: boolean // other weights were probed than it has now
  written?: number // answers with calls in their text since then
}

/** What a probe found out about a model. */
export interface Verdict {
  at: string
  times: number
  ways: Way[] | null
  mode?: string
  passed: boolean
  why: string
  tool_budget?: number
  step_budget?: number
  reads?: number
  writes?: number
  measured?: string
}

/** One way of calling tools, and how a model did in it. */
export interface Way {
  mode: string
  score: number
  fit: boolean
  why?: string
  grades: Grade[] | null
}

export interface Grade {
  check: string
  title: string
  verdict: 'pass' | 'partial' | 'fail' | 'skipped'
  share: number
  why: string
  ms: number
}

export interface Probe {
  id: string
  ref: string
  status: 'running' | 'done' | 'failed' | 'cancelled'
  doing: string
  done: number
  total: number
  error?: string
  result?: Verdict
}

export interface Engine {
  id: string
  name?: string // what a person called it
  engine: string
  api: string
  base_url: string
  version?: string
  state: EngineState
  why?: string
  key_env?: string
  origin: 'configured' | 'added' | 'found' | 'cloud'
  models: ModelInfo[] | null
}

export interface Pull {
  id: string
  engine: string
  model: string
  status: string
  done: number
  total: number
  error?: string
}

export interface Catalogue {
  default: string
  engines: Engine[] | null
  pulls: Pull[] | null
  probes?: Probe[] | null
}

export interface Check {
  id: string
  title: string
  state: 'ok' | 'warn' | 'fail' | 'unknown'
  text: string
  fix?: string
}

export interface Doctor {
  ok: boolean
  checks: Check[] | null
}

export interface ToolInfo {
  name: string
  title: string
  summary: string
  effects: string[]
  category?: string
  service?: string
  available: boolean
  why_not?: string
  enabled: boolean
}

export interface Toggles {
  readFiles: boolean
  writeFiles: boolean
  runShell: boolean
  network: boolean
}

export interface Rule {
  do: 'deny' | 'ask' | 'allow'
  pattern: string
  match?: string[]
  not_match?: string[]
  /** The folder in whose chats alone the rule holds. */
  workspace?: string
}

export interface Grant {
  id: string
  session: string
  turn?: string
  scope: Scope
  tool: string
  kind: string
  value: string
  mode: Mode
  created: string
  revoked?: string
}

export interface Permissions {
  mode: Mode
  toggles: Toggles
  rules: Rule[] | null
  workspaceRoot: string
  approvalTimeout: number
  onAsk: OnAsk
  'tools.disabled': string[] | null
  grants?: Grant[] | null
  fixed?: string[] | null
}

export interface AgentSettings {
  maxSteps: number
  callsPerStep: number
  history: number
  prefetch: boolean
  persona: string
  maxTokens: number
  maxTime: number
}

/** A line of the audit. */
export interface AuditEntry {
  n: number
  at: string
  owner: string
  kind: string
  session?: string
  turn?: string
  call?: string
  tool?: string
  source?: string
  by?: string
  verdict?: string
  rule?: string
  stage?: string
  approval?: string
  grant?: string
  scope?: Scope
  outcome?: string
  what?: string
  ms?: number
  bytes_in?: number
  bytes_out?: number
  sandbox: string
  args?: string
}

export interface AuditReport {
  ok: boolean
  full: boolean
  checked: number
  last: number
  faults: { n: number; kind: string; text: string }[] | null
  noted: AuditEntry[] | null
}

/** What was said on a call when it was decided. */
export interface Explained {
  call: string
  rulings: { stage: string; verdict: string; rule: string; reason: string; hard?: boolean }[] | null
  answer?: { state: string; scope?: Scope; by?: string; at?: string }
}
