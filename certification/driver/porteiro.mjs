// The server under test: the real binary, as in production, on a database of its own.

import { execFile, spawn } from 'node:child_process'
import { mkdir, open, readFile, writeFile } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { promisify } from 'node:util'
import { setTimeout as sleep } from 'node:timers/promises'

import * as front from '../front/front.mjs'
import { fill } from './plans.mjs'

const run = promisify(execFile)

/** The commit in what `porteiro --version` prints, or `unknown`. */
export const commitOf = (printed) => /^porteiro \S+ \(([0-9a-f]{7,64}(?:-dirty)?)\)$/.exec(printed.trim())?.[1] ?? 'unknown'

export class Porteiro {
  /** `completed`: with the front that adds PKCE at the issuer's address. `settings`: those of the plan. */
  constructor(surroundings, plan, completed, settings = {}) {
    Object.assign(this, surroundings, { plan, completed, settings })
    this.folder = `${this.scratch}/${plan}`
    this.database = `porteiro_certification_${process.pid}_${plan.replaceAll('-', '_')}`
    this.issuer = `https://localhost:${this.port}`
    this.mtls = `https://localhost:${this.port + 2}`
    this.approvals = `http://localhost:${this.port + 4}/`
    this.texts = []
  }

  async start() {
    await mkdir(this.folder, { recursive: true })
    await this.psql(`CREATE DATABASE ${this.database}`)
    const settings = {
      database_url: this.databaseUrl(),
      base_url: this.issuer,
      listen: `127.0.0.1:${this.completed ? this.port + 1 : this.port}`,
      tls_certificate_file: `${this.scratch}/tls.pem`,
      tls_key_file: `${this.scratch}/tls.key`,
      mtls_listen: `127.0.0.1:${this.port + 2}`,
      mtls_base_url: this.mtls,
      master_key_file: `${this.folder}/master.key`,
      smtp_url: this.smtp,
      smtp_ca_file: this.smtpCa,
      mail_from: 'Certification <certification@example.test>',
      sms_provider: 'webhook',
      sms_countries: ['+55'],
      sms_url: `http://127.0.0.1:${this.port + 3}/`,
      outbound_private_hosts: [`127.0.0.1:${this.port + 3}`],
      screens: true,
      registration: 'open',
      // A plan registers a new client for every module, all from one address.
      client_registrations_per_hour: 1000,
      breached_password_check: false,
      log_filter: 'info',
      ...fill(this.settings, { scratch: this.scratch }),
    }
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
    await writeFile(`${this.folder}/porteiro.toml`, `${lines.join('\n')}\n`)
    await this.command('migrate')
    await this.command('keys', 'generate', '--create-master-key')
    await this.startTexts()
    await this.serve()
    if (this.completed) this.front = await this.startFront()
  }

  async serve() {
    const log = await open(`${this.folder}/log`, 'a')
    this.process = spawn(this.binary, ['serve'], { env: this.environment(), stdio: ['ignore', log.fd, log.fd] })
    await log.close()
    for (let tries = 0; tries < 300; tries += 1) {
      if (this.process.exitCode !== null) break
      if (await this.ready()) return
      await sleep(100)
    }
    throw new Error(`the server is not ready:\n${(await readFile(`${this.folder}/log`, 'utf8')).slice(-2000)}`)
  }

  ready() {
    return new Promise((resolve) => {
      const port = this.completed ? this.port + 1 : this.port
      const options = { host: '127.0.0.1', servername: 'localhost', port, path: '/readyz', ca: this.ca }
      https.get(options, (answer) => resolve(answer.resume().statusCode === 200)).on('error', () => resolve(false))
    })
  }

  async startFront() {
    const tls = { key: await readFile(`${this.scratch}/tls.key`), cert: await readFile(`${this.scratch}/tls.pem`) }
    return front.start({ tls, port: this.port, to: this.port + 1, ca: this.ca })
  }

  /** Text messages arrive here. */
  startTexts() {
    this.phone = http.createServer(async (request, response) => {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      this.texts.push(JSON.parse(Buffer.concat(chunks)))
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    return new Promise((resolve) => this.phone.listen(this.port + 3, '127.0.0.1', resolve))
  }

  environment() {
    return { PORTEIRO_CONFIG: `${this.folder}/porteiro.toml`, ...(this.suiteCa && { SSL_CERT_FILE: this.suiteCa }) }
  }

  /** One call of the command line; what it prints. */
  async command(...words) {
    return (await run(this.binary, words, { env: this.environment() })).stdout
  }

  /** What the binary says it was built from: the checkout it is run from may be another. */
  async commit() {
    return commitOf(await this.command('--version'))
  }

  /** A client from its metadata, as an operator makes one. Gives its id and its secret. */
  async client(metadata, profile) {
    const file = `${this.folder}/client.json`
    await writeFile(file, JSON.stringify(metadata))
    const printed = await this.command('clients', 'create', file, '--trust', 'verified', '--profile', profile)
    const [id, secret] = ['client_id', 'client_secret'].map((name) => new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(printed)?.[1])
    return { id, secret }
  }

  /** What an operator does when a key should be replaced at once. Over when every caller sees the new key. */
  async rotateKeys() {
    const kids = async () => (await (await fetch(`${this.issuer}/.well-known/jwks.json`)).json()).keys.map((key) => key.kid)
    const before = new Set(await kids())
    await this.command('keys', 'rotate', '--algorithm', 'RS256', '--now')
    for (let tries = 0; tries < 300; tries += 1) {
      if ((await kids()).some((kid) => !before.has(kid))) return
      await sleep(200)
    }
    throw new Error('no new key was published')
  }

  async stop() {
    if (this.process) {
      const ended = new Promise((resolve) => this.process.once('exit', resolve))
      if (this.process.exitCode === null && this.process.kill('SIGTERM')) await ended
    }
    this.front?.close()
    this.front?.closeAllConnections()
    this.phone?.close()
    this.approver?.close()
    this.approver?.closeAllConnections()
    await this.psql(`DROP DATABASE IF EXISTS ${this.database} WITH (FORCE)`)
  }

  databaseUrl() {
    return this.databaseServer.replace(/\/[^/]*$/, `/${this.database}`)
  }

  /** A question to the database of this run. */
  sql(query) {
    return run('psql', ['-XqtA', this.databaseUrl(), '-c', query])
  }

  psql(statement) {
    return run('psql', ['-Xq', this.databaseServer, '-c', statement])
  }
}
