// Walks past every screen, in every language, and the groups that look at each of them.

import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { attributes, contrast, edges, focus, names, serious, shift, sideways, still, words } from '../checks.mjs'
import { shared, slow, visitor } from '../lib.mjs'
import { walk } from '../walk.mjs'
import { heaviest, weigh } from '../weight.mjs'

const one = shared(before, after)

/** Findings of one walk, by check: ["screen: what is wrong"]. */
class Tour {
  findings = new Map()
  screens = []
  names = []
  weights = []

  note(check, screen, found) {
    if (!this.findings.has(check)) this.findings.set(check, [])
    this.findings.get(check).push(...found.map((what) => `${screen}: ${what}`))
  }

  /** The check was made, on every screen, and found nothing. */
  clean(check) {
    assert.ok(this.screens.length > 75, `${this.screens.length} screens`)
    assert.deepEqual(this.findings.get(check), [], check)
  }
}

/** Whatever is a page may not be framed, kept or sniffed. */
const framed = (tour, page) => {
  tour.note('frames', '', [])
  page.on('response', async (response) => {
    const headers = response.headers()
    if (!headers['content-type']?.startsWith('text/html') || !response.url().startsWith(process.env.PORTEIRO_ISSUER)) return
    const refused = headers['x-frame-options'] === 'DENY' && /frame-ancestors 'none'/.test(headers['content-security-policy'])
    if (!refused || headers['cache-control'] !== 'no-store') tour.note('frames', response.url(), [JSON.stringify(headers)])
  })
}

const tours = new Map()
/** One walk for all the tests that look at it. */
const tour = (lang) => {
  if (!tours.has(lang)) tours.set(lang, take(lang))
  return tours.get(lang)
}

const phone = { width: 320, height: 640 }
const desk = { width: 1280, height: 860 }
/** Four times as large on a window of 1280: 320 wide for the page. */
const zoomed = { viewport: { width: 320, height: 215 }, deviceScaleFactor: 4 }

const take = async (lang) => {
  const tour = new Tour()
  const at = { en: { viewport: phone }, pt: { viewport: desk }, 'en-XA': zoomed, 'ar-XB': { viewport: phone } }[lang]
  const person = await visitor(one, { lang, ...at })
  framed(tour, person.page)
  if (lang === 'ar-XB') await slow(person)
  await walk(person, async (name, page) => {
    tour.screens.push(name)
    const note = async (check, found) => tour.note(check, name, await found)
    await note('shift', shift(page))
    await note('words', words(page, lang))
    await note('focus', focus(page))
    if (lang === 'pt') await page.setViewportSize(phone)
    await note('sideways', sideways(page))
    if (lang === 'en' || lang === 'pt') await note('serious', serious(page))
    if (lang === 'en') {
      await note('attributes', attributes(page))
      tour.names.push(`${name}: ${(await names(page)).join(' · ')}`)
      tour.weights.push(await weigh(name, page))
    }
    if (lang === 'pt') {
      await page.emulateMedia({ colorScheme: 'dark' })
      await note('dark', contrast(page))
      await page.emulateMedia({ colorScheme: 'light' })
      await page.setViewportSize(desk)
    }
    if (lang === 'en-XA') {
      await page.emulateMedia({ forcedColors: 'active', reducedMotion: 'reduce' })
      await note('edges', edges(page))
      await note('still', still(page))
      await page.emulateMedia({ forcedColors: 'none', reducedMotion: 'no-preference' })
    }
    if (lang === 'ar-XB') {
      await page.setViewportSize(desk)
      await note('desk', sideways(page))
      await page.setViewportSize(phone)
    }
  })
  tour.note('reports', 'all', person.reports)
  await person.context.close()
  return tour
}

test('screens', { concurrency: 20 }, async (t) => {
  const groups = [
    ['3 every form has what password managers and keyboards need', async () => (await tour('en')).clean('attributes')],
    ['12 every screen in English: no key shown, the right language, one heading', async () => (await tour('en')).clean('words')],
    ['12 every screen in Portuguese: no key shown, the right language, one heading', async () => (await tour('pt')).clean('words')],
    ['9 every screen in both languages: no serious finding of axe', async () => {
      for (const lang of ['en', 'pt']) (await tour(lang)).clean('serious')
    }],
    ['9 every error: focus is on its summary, the field is marked', async () => {
      for (const lang of ['en', 'pt']) (await tour(lang)).clean('focus')
    }],
    ['9 names and roles a screen reader finds are those of names.txt', async () => {
      const file = new URL('../names.txt', import.meta.url)
      assert.deepEqual((await tour('en')).names, (await readFile(file, 'utf8')).trim().split('\n'))
    }],
    ['10 every screen 320 pixels wide: nothing sticks out or is cut off', async () => {
      for (const lang of ['en', 'pt']) (await tour(lang)).clean('sideways')
    }],
    ['10 every screen in the dark: everything can be read', async () => (await tour('pt')).clean('dark')],
    ['10 every screen in the long language at 400 % zoom: nothing sticks out or is cut off', async () => (await tour('en-XA')).clean('sideways')],
    ['10 every screen in the mirrored language, phone and desk: nothing sticks out or is cut off', async () => {
      const mirrored = await tour('ar-XB')
      mirrored.clean('words')
      mirrored.clean('sideways')
      mirrored.clean('desk')
    }],
    ['10 every screen with forced colours: what can be pressed has an edge', async () => (await tour('en-XA')).clean('edges')],
    ['10 every screen with reduced motion: nothing moves', async () => (await tour('en-XA')).clean('still')],
    ['11 every page refuses to be framed or kept', async () => {
      for (const lang of ['en', 'pt', 'ar-XB']) (await tour(lang)).clean('frames')
    }],
    ['4 every screen: no policy report, no script error', async () => {
      for (const lang of ['en', 'pt', 'en-XA', 'ar-XB']) (await tour(lang)).clean('reports')
    }],
    ['measured: every page with its script and style is under 30 KB compressed', async () => {
      const { weights } = await tour('en')
      const { name, total } = heaviest(weights)
      assert.ok(weights.length > 75 && total < 30_000, `${name}: ${total} bytes`)
    }],
    ['measured: nothing shifts while a page comes, phone, desk and slow phone', async () => {
      for (const lang of ['en', 'pt', 'ar-XB']) (await tour(lang)).clean('shift')
    }],
    ['5 every flow but passkeys without script', async () => {
      const person = await visitor(one, { script: false })
      const wrong = []
      await walk(person, async (name, page) => {
        wrong.push(...(await focus(page)).map((what) => `${name}: ${what}`))
        for (const button of await page.locator('.script').all()) {
          if (await button.isVisible()) wrong.push(`${name}: shows what only a script could do`)
        }
      })
      assert.deepEqual(wrong, [])
      assert.deepEqual(person.reports, [])
      await person.context.close()
    }],
  ]
  await Promise.all(groups.map(([name, body]) => t.test(name, body)))
})
