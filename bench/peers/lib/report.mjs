// What was measured as Markdown, between two marks in docs/performance.md.

import { readFileSync, writeFileSync } from 'node:fs'
import { plot } from './plot.mjs'

export const OPERATIONS = {
  client_credentials: 'Client credentials',
  code: 'Code redemption',
  refresh: 'Refresh',
  introspect_refresh: 'Introspection, refresh token',
  introspect_access: 'Introspection, access token',
  discovery: 'Discovery document',
}
const BEGIN = '<!-- peers: begin -->'
const END = '<!-- peers: end -->'
const PICTURE = '![Requests per second of each product by concurrency, one panel for each operation](peers.svg)\n'

/** The Markdown; with `into`, also written into the documents of that folder. */
export function write(results, { into } = {}) {
  const text = markdown(results)
  if (into) {
    const file = `${into}/performance.md`
    const old = readFileSync(file, 'utf8')
    const [from, to] = [old.indexOf(BEGIN), old.indexOf(END)]
    if (from < 0 || to < from) throw new Error(`${file} has no marks ${BEGIN} and ${END}`)
    writeFileSync(file, `${old.slice(0, from + BEGIN.length)}\n${text}${old.slice(to)}`)
    writeFileSync(`${into}/peers.svg`, plot(results, OPERATIONS))
  }
  return text
}

export function markdown(results) {
  // A variation that ran at one concurrency only has a table of its own.
  const main = results.products.filter((product) => product.cells.some((cell) => cell.concurrency !== 32))
  const extra = results.products.filter((product) => !main.includes(product))
  const parts = [PICTURE, preamble(results), products(results.products), rates(main, 'Per second, p50 / p99 in ms')]
  if (extra.length) parts.push(rates(extra, 'A variation at 32'))
  parts.push(costs([...main, ...extra]))
  if (results.missing.length) {
    parts.push(`Not measured:\n\n${results.missing.map(({ name, error }) => `- ${name}: ${error.split('\n')[0]}`).join('\n')}\n`)
  }
  return parts.join('\n')
}

function preamble({ date, machine, postgres, algorithm, options, seconds }) {
  const day = new Date(date).toLocaleDateString('en-GB', { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' })
  const load = (list) => list?.[0].toFixed(2)
  return `${day}, ${machine.cores} cores (${machine.model.replace(/\((R|TM)\)/g, '')}), ${machine.memory_gb} GB, ${postgres}, access tokens signed with ${algorithm}, ` +
    `${options.seconds} s for each figure after ${options.warmUp} s of warm-up, ${seconds} s in all; load average ${load(machine.load)} before and ${load(machine.load_after)} after.\n`
}

const number = (value) => (value >= 100 ? Math.round(value).toLocaleString('en-US') : value >= 10 ? value.toFixed(1) : value.toFixed(2))
const row = (cells) => `| ${cells.join(' | ')} |\n`
const table = (heads, rows) => row(heads) + row(heads.map(() => '---')) + rows.map(row).join('')
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]

function products(list) {
  return table(['Product', 'Version', 'Start to ready', 'Memory idle', 'Memory, most'], list.map(({ name, version, start_ms: starts, memory }) => {
    const range = starts.length > 1 ? ` (${Math.min(...starts)} to ${Math.max(...starts)})` : ''
    return [name, version, `${median(starts)} ms${range}`, `${Math.round(memory.idle.pss)} MB`, `${Math.round(memory.peak.pss)} MB`]
  }))
}

const at = (product, operation, concurrency) => product.cells.find((cell) => cell.operation === operation && cell.concurrency === concurrency)
const figure = (cell) => (!cell ? 'n/a' : cell.errors ? `${cell.errors} errors` : `**${number(cell.per_second)}**, ${number(cell.p50)} / ${number(cell.p99)}`)

function rates(list, title) {
  const rows = []
  for (const [operation, label] of Object.entries(OPERATIONS)) {
    const levels = [...new Set(list.flatMap(({ cells }) => cells.filter((cell) => cell.operation === operation).map((cell) => cell.concurrency)))].sort((a, b) => a - b)
    for (const level of levels) rows.push([label, level, ...list.map((product) => figure(at(product, operation, level)))])
  }
  return table([title, 'Concurrency', ...list.map(({ name }) => name)], rows)
}

function costs(list) {
  const cost = (cell) => {
    if (!cell || cell.errors) return 'n/a'
    const control = cell.control >= 0.01 ? ` + ${number(cell.control)}` : ''
    return `${number(cell.statements)}${control}; ${number(cell.wal_bytes)} B; ${number(cell.cpu_product)} + ${number(cell.cpu_database)} µs`
  }
  const rows = Object.entries(OPERATIONS).map(([operation, label]) => [label, ...list.map((product) => cost(at(product, operation, 32)))])
  return table(['One operation at 32: statements (+ transaction control); WAL; CPU, product + database', ...list.map(({ name }) => name)], rows)
}
