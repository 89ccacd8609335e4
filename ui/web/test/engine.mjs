// An OpenAI-compatible engine that says what it is told to. Whoever offers tools gets native calls; else a call is
// written into the text as the block that text models are taught.
//
// Steps are taken in order, one a request:
//
//   { thought, text, call: [name, args], calls: [[name, args], …], pace, hold }
//
// pace is the pause between pieces in ms; hold is a promise that is waited for before the first piece, or, as
// { after: n, until: promise }, behind the n-th.

import { createServer } from 'node:http'

export async function startEngine({ models = ['demo'] } = {}) {
  const steps = []
  const requests = []
  const faults = []
  const server = createServer(async (req, res) => {
    try {
      if (req.method === 'GET' && req.url === '/v1/models') {
        res.setHeader('content-type', 'application/json')
        res.end(JSON.stringify({ object: 'list', data: models.map((id) => ({ id, object: 'model' })) }))
        return
      }
      if (req.method !== 'POST' || req.url !== '/v1/chat/completions') {
        // Who wants to know what this is asks at the addresses of all kinds of engines.
        res.writeHead(404, { 'content-type': 'application/json' })
        res.end(JSON.stringify({ error: { message: 'not found' } }))
        return
      }
      let body = ''
      for await (const part of req) body += part
      const asked = JSON.parse(body)
      requests.push(asked)
      const step = steps.shift()
      if (!step) {
        faults.push('no step is left for request ' + requests.length)
        res.writeHead(400, { 'content-type': 'application/json' })
        res.end(JSON.stringify({ error: { message: faults.at(-1) } }))
        return
      }
      await answer(res, asked, step, requests.length)
    } catch (e) {
      faults.push(String(e))
      res.destroy()
    }
  })
  await new Promise((r) => server.listen(0, '127.0.0.1', r))
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    faults,
    say: (...more) => void steps.push(...more),
    left: () => steps.length,
    close: () => {
      server.closeAllConnections()
      return new Promise((r) => server.close(r))
    },
  }
}

/** The pieces that a step is streamed in, as deltas. */
function* deltas(step, native, n) {
  const words = (s) => s.match(/\s*\S+\s*/g) ?? []
  for (const w of words(step.thought ?? '')) yield { reasoning_content: w }
  const calls = step.calls ?? (step.call ? [step.call] : [])
  let text = step.text ?? ''
  if (!native) {
    const blocks = calls.map(([name, args]) => '```tool\n' + JSON.stringify({ name, args }) + '\n```')
    text = [text, ...blocks].filter(Boolean).join('\n')
  }
  for (const w of words(text)) yield { content: w }
  if (!native) return
  for (const [index, [name, args]] of calls.entries()) {
    const whole = JSON.stringify(args)
    yield { tool_calls: [{ index, id: `call_${n}_${index}`, type: 'function', function: { name, arguments: '' } }] }
    for (let at = 0; at < whole.length; at += 24) yield { tool_calls: [{ index, function: { arguments: whole.slice(at, at + 24) } }] }
  }
}

async function answer(res, asked, step, n) {
  const native = Array.isArray(asked.tools) && asked.tools.length > 0
  const gone = new Promise((r) => res.on('close', r))
  if (step.hold instanceof Promise) await Promise.race([step.hold, gone])
  res.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choice, more = {}) =>
    res.write('data: ' + JSON.stringify({ id: 'chat_' + n, object: 'chat.completion.chunk', model: asked.model, choices: [{ index: 0, ...choice }], ...more }) + '\n\n')
  let count = 0
  for (const delta of deltas(step, native, n)) {
    if (res.destroyed) return
    send({ delta })
    count++
    if (step.hold?.after === count) await Promise.race([step.hold.until, gone])
    if (step.pace) await Promise.race([new Promise((r) => setTimeout(r, step.pace)), gone])
  }
  const called = native && (step.call || step.calls?.length)
  send({ delta: {}, finish_reason: called ? 'tool_calls' : 'stop' })
  const prompt = Math.ceil(JSON.stringify(asked.messages).length / 4)
  res.write('data: ' + JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: count, total_tokens: prompt + count } }) + '\n\n')
  res.end('data: [DONE]\n\n')
}

/** A promise that is kept from outside. */
export function gate() {
  let open
  const until = new Promise((r) => (open = r))
  return { until, open }
}
