// A scripted Ollama as a process of its own: test/ollama, built once for all tests of a file.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const source = fileURLToPath(new URL('ollama', import.meta.url))

/** Builds the program; gives its place, and how to remove it. */
export async function buildOllama() {
  const dir = await mkdtemp(path.join(tmpdir(), 'jackline-ollama-'))
  const bin = path.join(dir, 'ollama')
  await promisify(execFile)(process.env.GO || 'go', ['build', '-o', bin, '.'], { cwd: source })
  return { bin, remove: () => rm(dir, { recursive: true, force: true }) }
}

/** Starts it with the models that it has and those that it can fetch, as modeltest.OllamaModel writes them. */
export async function startOllama(bin, { script, models = [], library = [], paceMS = 0 }) {
  const child = spawn(bin, { stdio: ['pipe', 'pipe', 'pipe'] })
  let err = ''
  child.stderr.on('data', (b) => (err += b))
  const ended = once(child, 'exit')
  child.stdin.write(JSON.stringify({ script, models, library, paceMS }) + '\n')
  const url = await new Promise((done, failed) => {
    let out = ''
    child.stdout.on('data', (b) => {
      out += b
      const m = /http:\S+(?=\n)/.exec(out)
      if (m) done(m[0])
    })
    child.on('error', failed)
    ended.then(([code]) => failed(new Error(`the scripted Ollama ended with code ${code}: ${err}`)))
  })
  return {
    url,
    host: new URL(url).host,
    /** Ends it; gives what it has to complain about, "" for nothing. */
    async close() {
      child.stdin.end()
      await ended
      return err
    },
  }
}

export const qwen = { Name: 'qwen3:4b', Bytes: 2_497_293_931, Family: 'qwen3', Size: '4.0B', Trained: 262_144, Tools: true, Thinking: true }
export const gemma = { Name: 'gemma3:4b', Bytes: 3_338_801_804, Family: 'gemma3', Size: '4.3B', Trained: 131_072, Vision: true }
