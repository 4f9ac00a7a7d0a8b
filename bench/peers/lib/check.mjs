// bench/peers/run --check: the report and the plot of what was measured last, without measuring anything.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { OPERATIONS, markdown } from './report.mjs'
import { plot } from './plot.mjs'

const cell = (operation, concurrency, errors = 0) => ({ operation, concurrency, errors, per_second: 1234.5, p50: 1.5, p99: 12.25, statements: 1, control: 0, wal_bytes: 200, cpu_product: 100, cpu_database: 50 })
const product = (name, cells) => ({ key: name, name, version: '1', start_ms: [30, 10, 20], memory: { idle: { pss: 10 }, peak: { pss: 20 } }, cells })
const made = {
  date: '2026-01-02T03:04:05Z', algorithm: 'ES256', options: { seconds: 4, warmUp: 6 }, postgres: 'PostgreSQL 15', seconds: 1,
  machine: { cores: 2, model: 'x', memory_gb: 4, load: [0], load_after: [0] },
  products: [product('a', [cell('refresh', 1), cell('refresh', 32, 3)]), product('variation', [cell('refresh', 32)])], missing: [{ name: 'b', error: 'why\nmore' }],
}
const text = markdown(made)
assert.match(text, /\| a \| 1 \| 20 ms \(10 to 30\) \| 10 MB \| 20 MB \|/)
assert.match(text, /\| Refresh \| 1 \| \*\*1,235\*\*, 1\.50 \/ 12\.3 \|/)
assert.match(text, /\| Refresh \| 32 \| 3 errors \|/, 'a run with errors is no figure')
assert.match(text, /A variation at 32/)
assert.match(text, /- b: why\n/)
const drawn = plot(made, OPERATIONS)
assert.ok(!drawn.includes('NaN') && drawn.includes('prefers-color-scheme: dark'))
const folder = new URL('../results/', import.meta.url)
const kept = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : []
for (const name of kept) {
  const results = JSON.parse(readFileSync(new URL(name, folder)))
  assert.ok(!markdown(results).includes('NaN') && !plot(results, OPERATIONS).includes('NaN'), name)
}
console.log(`peers: the report and the plot hold, ${kept.length} kept results read`)
