// Processes, what they use, and the database they share.

import { execFileSync, spawn } from 'node:child_process'
import { openSync, readFileSync, readdirSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { send, forwarded } from './http.mjs'

export const say = (text) => console.error(`peers: ${text}`)

/** Every living process below one, itself included. */
export function tree(root) {
  const parents = new Map()
  for (const name of readdirSync('/proc')) {
    const found = /^\d+$/.test(name) && stat(name)
    if (found) parents.set(Number(name), found.parent)
  }
  const within = (pid) => pid === root || (parents.has(pid) && parents.get(pid) > 0 && within(parents.get(pid)))
  return [...parents.keys()].filter(within)
}

function stat(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\) /s, '').split(' ').map(Number)
    return { parent: fields[1], own: (fields[11] + fields[12]) * 10_000, reaped: (fields[13] + fields[14]) * 10_000 }
  } catch {
    return undefined
  }
}

/** Processor time of a tree of processes in microseconds. */
export const cpu = (root) =>
  tree(root).reduce((sum, pid) => sum + (stat(pid)?.own ?? 0) + (pid === root ? (stat(pid)?.reaped ?? 0) : 0), 0)

/** Memory of a tree of processes in MB: proportional (shared pages divided) and resident. */
export function memory(root) {
  const total = { pss: 0, rss: 0 }
  for (const pid of tree(root)) {
    try {
      const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      total.pss += Number(/^Pss: +(\d+)/m.exec(rollup)[1]) / 1024
      total.rss += Number(/^Rss: +(\d+)/m.exec(rollup)[1]) / 1024
    } catch {
      // Gone meanwhile.
    }
  }
  return total
}

const started = new Set()

/** Ends every product that was started here, at once. */
export const killAll = () => [...started].flatMap((child) => tree(child.pid)).forEach(kill)

/** Starts a program; its output is thrown away as `serve > /dev/null` would, unless a log is asked for. */
export function start(program, words, { env = {}, cwd, log }) {
  const output = log ? openSync(log, 'a') : 'ignore'
  const child = spawn(program, words, { cwd, stdio: ['ignore', output, output], env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } })
  started.add(child)
  child.exited = new Promise((resolve) => child.on('exit', resolve)).then(() => started.delete(child))
  child.on('error', (error) => say(`${program}: ${error.message}`))
  return child
}

export async function stop(child) {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  const late = setTimeout(() => tree(child.pid).reverse().forEach((pid) => kill(pid)), 15_000)
  await child.exited
  clearTimeout(late)
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // Gone already.
  }
}

/** Milliseconds from `began` until an address answers 200. */
export async function ready(child, began, port, path, host, { limit, every = 5 }) {
  for (;;) {
    const answer = await send(port, 'GET', path, { headers: forwarded(host) }).catch(() => undefined)
    if (answer?.status === 200) return performance.now() - began
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('the server ended while starting')
    if (performance.now() - began > limit) throw new Error(`not ready after ${limit / 1000} s: ${answer?.status} ${answer?.text}`)
    await sleep(every)
  }
}

/** The one PostgreSQL, durable, with `pg_stat_statements`, started by scripts/postgres in a folder of its own. */
export class Postgres {
  constructor(state, port) {
    this.env = { ...process.env, PORTEIRO_TEST_STATE: state, PORTEIRO_TEST_PG_PORT: String(port), PORTEIRO_TEST_PG_SHARED_BUFFERS: '1GB' }
  }

  #script(...words) {
    return execFileSync('scripts/postgres', words, { env: this.env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim()
  }

  start() {
    this.url = this.#script('start')
    for (const setting of ["shared_preload_libraries = 'pg_stat_statements'", "checkpoint_timeout = '1h'", "max_wal_size = '8GB'"]) {
      this.sql(`ALTER SYSTEM SET ${setting}`)
    }
    this.#script('stop')
    this.url = this.#script('start')
    this.sql('CREATE EXTENSION IF NOT EXISTS pg_stat_statements')
    const on = this.sql("SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')")
    if (on !== 'fsync=on full_page_writes=on synchronous_commit=on') throw new Error(`PostgreSQL is not durable: ${on}`)
    this.pid = Number(readFileSync(`${this.env.PORTEIRO_TEST_STATE}/postgres/data/postmaster.pid`, 'utf8').split('\n')[0])
  }

  stop() {
    this.#script('stop')
  }

  sql(text) {
    return execFileSync('psql', ['-XqAt', '-v', 'ON_ERROR_STOP=1', this.url, '-c', text], { encoding: 'utf8' }).trim()
  }

  /** A new database; its parts for every way of writing an address. */
  database(name) {
    this.sql(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    this.sql(`CREATE DATABASE ${name}`)
    const { port } = new URL(this.url)
    return { name, port, user: 'porteiro', url: `postgres://porteiro@127.0.0.1:${port}/${name}` }
  }

  /** Counters of one database; `control` are BEGIN, COMMIT and the like. */
  counters(name) {
    const row = this.sql(`SELECT pg_current_wal_insert_lsn() - '0/0',
        coalesce(sum(calls) FILTER (WHERE query !~* '^(begin|start transaction|commit|rollback|set|discard|deallocate)'), 0),
        coalesce(sum(calls) FILTER (WHERE query ~* '^(begin|start transaction|commit|rollback|set|discard|deallocate)'), 0)
      FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '${name}')`)
    const [wal, statements, control] = row.split('|').map(Number)
    return { wal, statements, control, cpu: cpu(this.pid) }
  }

  /** Which statements they were, most frequent first. */
  statements(name, limit = 12) {
    const rows = this.sql(`SELECT json_agg(json_build_object('calls', calls, 'query', left(regexp_replace(query, '\\s+', ' ', 'g'), 160)))
      FROM (SELECT calls, query FROM pg_stat_statements WHERE dbid = (SELECT oid FROM pg_database WHERE datname = '${name}')
            ORDER BY calls DESC LIMIT ${limit}) top`)
    return JSON.parse(rows || 'null') ?? []
  }

  resetStatements() {
    this.sql('SELECT pg_stat_statements_reset()')
  }
}

/** The machine a figure belongs to. */
export function machine() {
  const model = cpus()[0].model
  const memoryKb = Number(/MemTotal: +(\d+)/.exec(readFileSync('/proc/meminfo', 'utf8'))[1])
  return { cores: cpus().length, model, memory_gb: Math.round(memoryKb / 1048576), node: process.versions.node, load: readFileSync('/proc/loadavg', 'utf8').split(' ').slice(0, 3).map(Number) }
}
