// Starts the stand-in server and a browser, and gives a signed-in page.

import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'
import { startFake } from '../fake-server.mjs'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

export function chromiumPath() {
  const found = process.env.CHROMIUM ?? places.find((p) => existsSync(p))
  if (!found || !existsSync(found)) {
    throw new Error(`no Chromium at ${process.env.CHROMIUM ?? places.join(', ')}; install one (apt-get install chromium) or set CHROMIUM to its path`)
  }
  return found
}

export async function launch() {
  return chromium.launch({
    executablePath: chromiumPath(),
    args: ['--no-sandbox', '--disable-background-networking', '--disable-component-update', '--disable-gpu', '--disable-dev-shm-usage'],
  })
}

/** A page, and everything it complained about. */
export async function open(browser, fake, { path = '', viewport = { width: 1280, height: 820 }, scheme = 'light', ...more } = {}) {
  const context = await browser.newContext({ viewport, colorScheme: scheme, reducedMotion: 'reduce', ...more })
  const page = await context.newPage()
  page.setDefaultTimeout(8000)
  const complaints = []
  page.on('console', (m) => {
    if (m.type() === 'error' && !/Failed to load resource|net::ERR/.test(m.text())) complaints.push(m.text())
  })
  page.on('pageerror', (e) => complaints.push(String(e)))
  const requests = []
  page.on('request', (r) => requests.push(r.url()))
  await page.goto(fake.url + '/' + path)
  return { page, context, complaints, requests }
}

let codes = 0
export async function signedIn(browser, fake, o = {}) {
  const code = 'TEST' + ++codes
  fake.addCode(code)
  const opened = await open(browser, fake, { path: '#code=' + code, ...o })
  await opened.page.getByRole('textbox', { name: 'Message' }).waitFor()
  return opened
}

export async function prompt(page, text) {
  const box = page.getByRole('textbox', { name: 'Message' })
  await box.fill(text)
  await box.press('Enter')
}

export { startFake }
