// The HTTP client: one function a request, errors as the server words them.

export class ApiError extends Error {
  status: number
  kind: string
  by?: string
  decision?: string
  rule?: string

  constructor(status: number, kind: string, detail: string, more: { by?: string; decision?: string; rule?: string } = {}) {
    super(detail)
    this.name = 'ApiError'
    this.status = status
    this.kind = kind
    this.by = more.by
    this.decision = more.decision
    this.rule = more.rule
  }

  /** No answer came at all: the server is away. */
  get offline(): boolean {
    return this.status === 0
  }
}

export async function problemOf(res: Response): Promise<ApiError> {
  let body: any = {}
  try {
    body = await res.json()
  } catch {
    // Not a problem document; the status says what there is to say.
  }
  let detail: string = body.detail || body.title || `${res.status} ${res.statusText}`.trim()
  // Validators name the fields that do not fit.
  if (Array.isArray(body.errors)) {
    const lines = body.errors.map((e: any) => [e.location, e.message].filter(Boolean).join(': ')).filter(Boolean)
    if (lines.length) detail += ' (' + lines.join('; ') + ')'
  }
  return new ApiError(res.status, String(body.title ?? ''), detail, body)
}

export class Client {
  token: string
  /** Called when the server no longer takes the token. */
  onUnauthorized: () => void = () => {}

  constructor(token = '') {
    this.token = token
  }

  headers(): Record<string, string> {
    return this.token ? { Authorization: 'Bearer ' + this.token } : {}
  }

  async request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
    const res = await this.#send(method, path, body === undefined ? undefined : JSON.stringify(body), 'application/json', signal)
    if (res.status === 204) return undefined as T
    return (await res.json()) as T
  }

  async #send(method: string, path: string, body?: BodyInit, type = '', signal?: AbortSignal): Promise<Response> {
    const headers = this.headers()
    if (body !== undefined) headers['Content-Type'] = type
    const sent = this.token
    let res: Response
    try {
      res = await fetch(path, { method, headers, body, signal, cache: 'no-store', credentials: 'omit', redirect: 'error' })
    } catch (e) {
      if (signal?.aborted) throw e
      throw new ApiError(0, 'offline', '')
    }
    if (res.status === 401 && sent && sent === this.token) this.onUnauthorized()
    if (!res.ok) throw await problemOf(res)
    return res
  }

  /** Sends a file as it is. */
  async upload<T>(path: string, file: Blob): Promise<T> {
    return (await (await this.#send('POST', path, file, 'application/octet-stream')).json()) as T
  }

  /** Gets a file. */
  async blob(path: string): Promise<Blob> {
    return (await this.#send('GET', path)).blob()
  }

  get<T>(path: string, signal?: AbortSignal): Promise<T> {
    return this.request<T>('GET', path, undefined, signal)
  }
  post<T>(path: string, body: unknown = {}): Promise<T> {
    return this.request<T>('POST', path, body)
  }
  patch<T>(path: string, body: unknown): Promise<T> {
    return this.request<T>('PATCH', path, body)
  }
  put<T>(path: string, body: unknown): Promise<T> {
    return this.request<T>('PUT', path, body)
  }
  delete<T>(path: string): Promise<T> {
    return this.request<T>('DELETE', path)
  }
}
