// What is expected to be less than PASSED, and why.

import { readFile } from 'node:fs/promises'

/** One line for each difference between a run and expected.json. `part`: modules were left out. */
export const compare = async (key, modules, part) => {
  const all = JSON.parse(await readFile(new URL('../expected.json', import.meta.url), 'utf8'))
  const expected = all.filter((entry) => entry.plans.includes(key))
  const lines = []
  const met = new Set()
  const meet = (module, what) => {
    const entry = expected.find((one) => one.modules.includes(module) && one.what === what)
    if (entry) met.add(`${module} ${what}`)
    return entry
  }
  for (const { name, result, notes } of modules) {
    const found = [...notes]
    if (result === 'SKIPPED' || result === 'INTERRUPTED') found.push(result.toLowerCase())
    for (const what of found) if (!meet(name, what)) lines.push(`not expected: ${name}: ${what}`)
    if (result === 'FAILED' && !notes.some((what) => what.startsWith('failure'))) lines.push(`not expected: ${name}: failed`)
  }
  const ran = new Set(modules.map(({ name }) => name))
  for (const { modules: names, what } of expected) {
    for (const name of names) {
      if ((ran.has(name) || !part) && !met.has(`${name} ${what}`)) lines.push(`expected and absent: ${name}: ${what}`)
    }
  }
  return lines
}
