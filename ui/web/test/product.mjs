// The real program, as a process with a home of its own and an engine that says what it is told to.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEngine } from './engine.mjs'

/** The built program, or an error that says how to get it. */
export function program() {
  const bin = process.env.JACKLINE_BIN
  if (!bin) throw new Error('JACKLINE_BIN is not set: it must name the built program. `make test-browser` builds it and sets it; or: make build && JACKLINE_BIN=$PWD/bin/jackline npm --prefix ui/web run test:browser')
  if (!existsSync(bin)) throw new Error(`JACKLINE_BIN is ${bin}, and nothing is there: make build`)
  return bin
}

/**
 * Starts engine and server. files are put into the workspace first. home is made where it is not given. With found, the
 * host and port of an Ollama, nothing is configured at all: the server finds it by itself, as it would in an empty home.
 */
export async function startProduct({ mode = 'native', files = {}, home = '', folder = 'site', model = 'demo', found = '' } = {}) {
  const bin = program()
  const made = home === ''
  if (made) home = await mkdtemp(path.join(tmpdir(), 'jackline-real-'))
  const site = path.join(home, folder)
  await mkdir(site, { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(site, name)), { recursive: true })
    await writeFile(path.join(site, name), text)
  }
  const engine = await startEngine({ models: [model] })
  const args = ['serve', '--listen', '127.0.0.1:0', '--workspace', site]
  if (!found) args.push('--base-url', engine.url, '--model', model, '--tool-mode', mode, '--window', '16384')
  // Nothing of the surroundings goes in: a person's own settings would change what is tested.
  const env = { PATH: process.env.PATH, HOME: home, JACKLINE_HOME: path.join(home, '.jackline'), NO_COLOR: '1', ...(found ? { OLLAMA_HOST: found } : {}) }
  const child = spawn(bin, args, { env, cwd: site, stdio: ['ignore', 'pipe', 'pipe'] })
  let out = ''
  let err = ''
  child.stderr.on('data', (b) => (err += b))
  const ended = once(child, 'exit')
  const link = await new Promise((done, failed) => {
    child.stdout.on('data', (b) => {
      out += b
      const m = out.match(/http:\/\/\S+#code=\S+(?=\n)/)
      if (m) done(m[0])
    })
    child.on('error', failed)
    ended.then(([code]) => failed(new Error(`the program ended with code ${code}: ${err}`)))
  })
  return {
    link,
    url: new URL(link).origin,
    site,
    engine,
    stderr: () => err,
    /** Ends the server as Ctrl+C does, and gives its exit code. */
    async close() {
      child.kill('SIGINT')
      const [code] = await ended
      await engine.close()
      if (made) await rm(home, { recursive: true, force: true })
      return code
    },
  }
}
