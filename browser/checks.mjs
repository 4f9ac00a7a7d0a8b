// What must hold on every screen. Each check says what is wrong, and says nothing where all is well.

import { readFile } from 'node:fs/promises'
import { focused } from './lib.mjs'

const axe = await readFile(new URL('./node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Serious and critical findings of axe. */
export const serious = async (page, options = {}) => {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe)
  const { violations } = await page.evaluate((options) => globalThis.axe.run({ resultTypes: ['violations'], ...options }), options)
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(' | ')}`)
}

export const contrast = (page) => serious(page, { runOnly: ['color-contrast'] })

/** What sticks out of the window sideways, is cut off, or spills out of its own box. */
export const sideways = (page) =>
  page.evaluate(() => {
    const root = document.documentElement
    const wide = root.clientWidth
    const found = []
    if (root.scrollWidth > wide) found.push(`the page is ${root.scrollWidth} wide in a window of ${wide}`)
    for (const element of document.body.querySelectorAll('*')) {
      const closed = element.closest('details:not([open])')
      if (element.closest('.away, .skip, svg') || (closed && !element.closest('summary'))) continue
      const style = getComputedStyle(element)
      const box = element.getBoundingClientRect()
      if (!box.width || !box.height || style.visibility === 'hidden') continue
      const called = `<${element.localName} class="${element.className}">${element.textContent.trim().slice(0, 40)}`
      if (box.left < -1 || box.right > wide + 1) found.push(`outside: ${called}`)
      const field = /^(input|textarea|select)$/.test(element.localName)
      if (!field && style.display !== 'inline' && element.scrollWidth > element.clientWidth + 1) {
        found.push(`${style.overflowX === 'visible' ? 'spills' : 'cut off'}: ${called}`)
      }
    }
    return found
  })

/** With colours forced, what can be pressed or filled in still has an edge. The browser draws that of check boxes. */
export const edges = (page) =>
  page.evaluate(() => {
    if (!matchMedia('(forced-colors: active)').matches) return ['colours are not forced']
    const found = []
    for (const element of document.querySelectorAll('input:not([type=hidden], [type=checkbox], .away), select, textarea, button.primary, button.danger, .button.primary, .choice')) {
      if (!element.getBoundingClientRect().width) continue
      const style = getComputedStyle(element)
      const visible = style.borderBlockStartStyle !== 'none' && Number.parseFloat(style.borderBlockStartWidth) >= 1
      if (!visible || style.borderBlockStartColor === style.backgroundColor) found.push(`no edge: ${element.outerHTML.slice(0, 80)}`)
    }
    return found
  })

/** For people who ask for less motion nothing moves. `held` only keeps a button from being pressed at once. */
export const still = (page) =>
  page.evaluate(() => {
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches) return ['motion is not reduced']
    const moving = [...document.querySelectorAll('*')].filter((element) => {
      const style = getComputedStyle(element)
      return !['none', 'held'].includes(style.animationName) || style.transitionDuration.split(',').some((time) => Number.parseFloat(time) > 0)
    })
    return moving.map((element) => `moves: ${element.outerHTML.slice(0, 80)}`)
  })

/** What password managers, keyboards and codes need, on every form. */
export const attributes = (page) =>
  page.evaluate(() => {
    const found = []
    const wants = (input, wanted) => {
      for (const [name, value] of Object.entries(wanted)) {
        const given = input.getAttribute(name)
        const right = value instanceof RegExp ? value.test(given ?? '') : given === value
        if (!right) found.push(`${name} of ${input.outerHTML}`)
      }
    }
    for (const form of document.forms) {
      if (form.method !== 'post') found.push(`not posted: ${form.outerHTML.slice(0, 80)}`)
      if (!form.querySelector('button:not([type=button])')) found.push(`no button: ${form.outerHTML.slice(0, 80)}`)
      if (form.querySelectorAll('[autocomplete=one-time-code]').length > 1) found.push('a code in several boxes')
      for (const input of form.querySelectorAll('input:not([type=hidden], [type=checkbox])')) {
        if (input.hasAttribute('onpaste') || input.getAttribute('autocomplete') === null) {
          if (!/^(days|label)$/.test(input.name)) found.push(`no autocomplete: ${input.outerHTML}`)
        }
        if (input.type === 'email') wants(input, { autocomplete: /^(username|username webauthn|email)$/, inputmode: 'email', autocapitalize: 'none', spellcheck: 'false' })
        if (input.type === 'password') {
          wants(input, { autocomplete: /^(current|new)-password$/ })
          if (!form.querySelector('input[autocomplete~=username]')) found.push(`whose password: ${input.outerHTML}`)
        }
        if (input.autocomplete === 'new-password') wants(input, { passwordrules: /^minlength: 15; maxlength: 256; allowed: unicode$/ })
        if (input.name === 'code' && input.dataset.digits) wants(input, { autocomplete: 'one-time-code', inputmode: 'numeric' })
      }
      if (form.querySelectorAll('input[autocomplete=new-password]').length > 1) found.push('a password to be typed twice')
    }
    for (const input of document.querySelectorAll('input:not([type=hidden]), select, textarea')) {
      if (!input.form) found.push(`outside a form: ${input.outerHTML}`)
    }
    return found
  })

/** Where something went wrong, that is where one is, and the page says so first. */
export const focus = async (page) => {
  if (!(await page.locator('#problem').count())) return []
  await focused(page, '#problem')
  return page.evaluate(() => {
    const problem = document.querySelector('#problem')
    const found = []
    if (document.activeElement !== problem) found.push(`focus is on ${document.activeElement?.outerHTML.slice(0, 80)}`)
    if (problem.getAttribute('role') !== 'alert') found.push('no alert')
    for (const link of problem.querySelectorAll('a')) {
      const field = document.querySelector(link.getAttribute('href'))
      if (field?.getAttribute('aria-invalid') !== 'true' || !field.getAttribute('aria-describedby')?.includes('problem')) found.push(`not marked: ${link.hash}`)
    }
    return found
  })
}

/** What moved while the page came, without anybody touching it: [how far, what]. */
export const shift = (page) =>
  page.evaluate(
    () =>
      new Promise((resolve) => {
        // Looked at once more after somebody clicked: what moved then was meant to.
        if (globalThis.looked) return resolve([])
        globalThis.looked = true
        const moved = []
        const add = (list) => {
          for (const { value, hadRecentInput, sources } of list.getEntries()) {
            if (!hadRecentInput) moved.push([value, sources.map(({ node }) => node?.nodeName).join(', ')])
          }
        }
        new PerformanceObserver(add).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve(moved), 60)
      }),
  )

/** Keys of a catalogue: nobody ever reads one. */
const keys = new Set()
for (const line of (await readFile(process.env.PORTEIRO_CATALOGUE, 'utf8')).split('\n')) {
  const key = /^([a-z][a-z0-9]*(?:-[a-z0-9]+)+) =/.exec(line)?.[1]
  if (key) keys.add(key)
}
export const words = async (page, lang) => {
  const { text, language, dir, headings } = await page.evaluate(() => ({
    text: document.body.innerText,
    language: document.documentElement.lang,
    dir: document.documentElement.dir,
    headings: document.querySelectorAll('h1').length,
  }))
  const found = text.split(/\s+/).filter((word) => keys.has(word))
  if (language !== (lang === 'pt' ? 'pt-BR' : lang)) found.push(`lang is ${language}`)
  if (dir !== (lang === 'ar-XB' ? 'rtl' : 'ltr')) found.push(`dir is ${dir}`)
  if (headings !== 1) found.push(`${headings} headings`)
  return found
}

/** What a screen reader can go to, by role and name; what differs from run to run is masked. */
export const names = async (page) => {
  // The frame is the same everywhere: once is enough.
  const whole = new URL(page.url()).pathname === '/nowhere'
  const snapshot = await page.locator(whole ? 'body' : 'main').ariaSnapshot()
  const lines = snapshot.split('\n').map((line) => /^\s*- '?((?:heading|button|link|textbox|combobox|spinbutton|navigation|alert|status|note|group|img|list)\b[^:']*)/.exec(line)?.[1].trim())
  return lines
    .filter((line) => line && !/^(list|group|status|alert|note)$/.test(line))
    .map((line) =>
      line
        .replace(/[\w.]+@example\.test/g, '{address}')
        .replace(/-[0-9a-f]{8}\b/g, '-{slug}')
        .replace(/Approve with \d\d/, 'Approve with {number}')
        .replace(' [disabled]', ''),
    )
}
