// What is expected to be less than PASSED, and why; and which modules a plan consists of.

import { readFile } from 'node:fs/promises'

const read = (path) => readFile(new URL(path, import.meta.url), 'utf8')

/** The modules of a plan, as `modules.csv` names them. */
export const modulesOf = async (key) => {
  const rows = (await read('../modules.csv')).trim().split('\n').slice(1)
  return rows.map((row) => row.split(',')).filter(([plans]) => plans.split(' ').includes(key)).map(([, module]) => module)
}

/** Whatever of a module is not PASSED, in the words of expected.json. */
const remarks = ({ result, notes }) => {
  const said = (kind) => notes.some((what) => what.startsWith(kind))
  if (result === 'PASSED' || (result === 'WARNING' && said('warning')) || (result === 'FAILED' && said('failure'))) return notes
  return [...notes, result.toLowerCase()]
}

/** One line for each difference between a run and what is written down. `only`: modules that were asked for, if not all. */
export const compare = async (key, modules, only) => {
  const expected = JSON.parse(await read('../expected.json')).filter((entry) => entry.plans.includes(key))
  const lines = []
  const met = new Set()
  for (const module of modules) {
    for (const what of remarks(module)) {
      const known = expected.some((one) => one.modules.includes(module.name) && one.what === what)
      if (known) met.add(`${module.name} ${what}`)
      else lines.push(`not expected: ${module.name}: ${what}`)
    }
  }
  const ran = new Set(modules.map(({ name }) => name))
  const known = await modulesOf(key)
  for (const name of only ?? known) if (!ran.has(name)) lines.push(`missing: ${name}`)
  for (const name of ran) if (!known.includes(name)) lines.push(`not in modules.csv: ${name}`)
  for (const { modules: names, what } of expected) {
    for (const name of names) {
      if (ran.has(name) && !met.has(`${name} ${what}`)) lines.push(`expected and absent: ${name}: ${what}`)
      if (!known.includes(name)) lines.push(`expected of no module: ${name}: ${what}`)
    }
  }
  return lines
}
