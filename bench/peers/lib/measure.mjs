// One product: started, prepared, asked at each concurrency, and what that cost.

import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { ALGORITHM } from './constants.mjs'
import { FORM, basic, form, forwarded, many } from './http.mjs'
import { cpu, memory, ready, say, start, stop } from './machine.mjs'

/** Hands one plan to the load generator. */
function load(binary, plan) {
  return new Promise((resolve, reject) => {
    const child = spawn(binary, [], { stdio: ['pipe', 'pipe', 'inherit'] })
    const chunks = []
    child.on('error', reject).stdout.on('data', (chunk) => chunks.push(chunk))
    child.on('close', (code) => (code ? reject(new Error(`the load generator ended with ${code}`)) : resolve(JSON.parse(Buffer.concat(chunks)))))
    child.stdin.end(JSON.stringify(plan))
  })
}

const head = (method, path, host, headers) =>
  `${method} ${path} HTTP/1.1\r\n` + Object.entries({ ...forwarded(host), 'user-agent': 'peers-load', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`).join('')

export class Run {
  memory = { peak: { pss: 0, rss: 0 } }
  cells = []

  constructor(product, context) {
    Object.assign(this, { product, context })
  }

  async all() {
    const { product, context } = this
    const { postgres, options } = context
    this.database = postgres.database(`peers_${product.key.replaceAll('-', '_')}`)
    await product.prepare(this.database)
    try {
      await this.starts()
      say(`${product.name}: preparing clients and ${options.sessions} sessions`)
      Object.assign(this, await product.setup())
      this.sessions = await many(options.sessions, 8, (number) => product.session(number))
      await this.operations()
    } finally {
      if (this.child) await stop(this.child)
    }
    return {
      key: product.key, name: product.name, version: product.version, note: product.note,
      start_ms: this.startMillis, memory: this.memory, cells: this.cells,
    }
  }

  /** Started several times; the last one stays. Memory is read before anything else is asked. */
  async starts() {
    const { product, context: { options, scratch } } = this
    this.startMillis = []
    // The first start of a product may still write to its database; it is not counted.
    for (let count = -1; count < options.starts; count += 1) {
      const began = performance.now()
      const command = product.command()
      this.child = start(command.program, command.words, { ...command, log: process.env.PEERS_KEEP && `${scratch}/${product.key}.log` })
      const millis = await ready(this.child, began, product.readyPort ?? product.port, product.readyPath, product.host, { limit: count < 0 ? 900_000 : 240_000, every: product.readyEvery })
      if (count >= 0) this.startMillis.push(Math.round(millis))
      if (count + 1 < options.starts) await stop(this.child)
    }
    await sleep(options.idle * 1000)
    this.memory.idle = memory(this.child.pid)
    say(`${product.name}: ready in ${this.startMillis.join(', ')} ms, idle ${this.memory.idle.pss.toFixed(0)} MB`)
  }

  async operations() {
    const { product, context: { options } } = this
    const { client } = this
    const token = { ...FORM, ...basic(client.id, client.secret) }
    const post = (path, headers, port = product.port) => ({ port, head: head('POST', path, product.host, headers) })
    const plans = {
      discovery: { port: product.port, head: head('GET', product.discoveryPath, product.host, {}), values: [''], order: 'cycle', expect: '"issuer"' },
      client_credentials: {
        ...post(product.tokenPath, token), values: [form({ grant_type: 'client_credentials', ...product.scopeFields() })],
        order: 'cycle', expect: '"access_token"',
      },
    }
    for (const [name, plan] of Object.entries(plans)) await this.levels(name, () => plan)

    this.tokens = []
    await this.levels('code', (seconds, count) => this.codes(seconds, count, post(product.tokenPath, token)))
    // One living token for each session; what else was redeemed stays in the database.
    const families = await this.families(post(product.tokenPath, token))
    let refresh = families.map((kept) => kept[0])
    const rotate = () => ({ ...post(product.tokenPath, token), prefix: 'grant_type=refresh_token&refresh_token=', values: refresh, order: 'rotate', expect: '"access_token"', keep: ['refresh_token', 'access_token'] })
    await this.levels('refresh', rotate, (measured) => (refresh = measured.values))
    const introspect = product.introspection(client)
    const ask = (hint, values) => () => ({ ...post(introspect.path, { ...FORM, ...introspect.headers }, introspect.port), prefix: `token_type_hint=${hint}&token=`, values, order: 'cycle', expect: '"active":true' })
    await this.levels('introspect_refresh', ask('refresh_token', refresh.map(encodeURIComponent)))
    const access = await this.families(post(product.tokenPath, token))
    if (product.introspectsAccessTokens !== false) await this.levels('introspect_access', ask('access_token', access.map((kept) => kept[1])))
  }

  /** Bodies with a code each, made outside the measured time. */
  async codes(seconds, count, where) {
    const deadline = Date.now() + seconds * 1000
    const bodies = await many(count, 16, async (index) => {
      const { code, verifier } = await this.product.code(this.sessions[index % this.sessions.length], this.client)
      return form({ grant_type: 'authorization_code', code, redirect_uri: this.product.redirectUri, code_verifier: verifier, ...this.product.resourceFields() })
    }, deadline)
    return { ...where, values: bodies, order: 'once', expect: '"access_token"', keep: ['refresh_token', 'access_token'] }
  }

  async families(where) {
    const plan = await this.codes(600, this.sessions.length, where)
    const measured = await this.once('code', plan, 8, 600)
    if (measured.errors) throw new Error(`${this.product.name}: ${measured.first_error}`)
    // The same kind of token from everybody, or there is nothing to compare.
    const header = JSON.parse(Buffer.from(measured.kept[0][1].split('.')[0], 'base64url'))
    if (header.alg !== ALGORITHM) throw new Error(`access tokens are signed with ${header.alg}`)
    return measured.kept
  }

  /** An operation at each concurrency, after a warm-up that is thrown away. */
  async levels(operation, plan, after = () => {}) {
    const { options } = this.context
    const codes = operation === 'code'
    const warm = codes ? await plan(options.codeSeconds / 2, options.codes / 4) : await plan()
    after(await this.once(operation, warm, 16, options.warmUp))
    for (const concurrency of options.concurrency) {
      const next = codes ? await plan(options.codeSeconds, concurrency === 1 ? options.codes / 4 : options.codes) : await plan()
      after(await this.cell(operation, next, concurrency, codes ? 600 : options.seconds))
    }
  }

  async cell(operation, plan, concurrency, seconds) {
    const { product, context: { postgres } } = this
    postgres.resetStatements()
    const before = { ...postgres.counters(this.database.name), own: cpu(this.child.pid) }
    const measured = await this.once(operation, plan, concurrency, seconds)
    await sleep(300)
    const after = { ...postgres.counters(this.database.name), own: cpu(this.child.pid) }
    const each = (name) => (after[name] - before[name]) / Math.max(measured.operations, 1)
    const now = memory(this.child.pid)
    for (const kind of ['pss', 'rss']) this.memory.peak[kind] = Math.max(this.memory.peak[kind], now[kind])
    const { kept, values, ...figures } = measured
    const cell = {
      operation, concurrency, ...figures,
      // The reset and the count itself are statements of another database.
      statements: each('statements'), control: each('control'), wal_bytes: each('wal'),
      cpu_product: each('own'), cpu_database: each('cpu'),
      top: postgres.statements(this.database.name),
    }
    this.cells.push(cell)
    say(`${product.name}: ${operation} at ${concurrency}: ${figures.per_second.toFixed(0)}/s, p50 ${figures.p50} ms, p99 ${figures.p99} ms, ` +
      `${cell.statements.toFixed(2)} statements, ${cell.wal_bytes.toFixed(0)} B WAL, CPU ${cell.cpu_product.toFixed(0)} + ${cell.cpu_database.toFixed(0)} µs, errors ${figures.errors}${figures.first_error ? ` (${figures.first_error})` : ''}`)
    return measured
  }

  once(operation, plan, concurrency, seconds) {
    const { port, ...rest } = plan
    return load(this.context.load, { address: `127.0.0.1:${port}`, concurrency, seconds, ...rest })
  }
}
