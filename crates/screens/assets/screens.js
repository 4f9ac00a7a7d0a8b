// The one script. Every page works without it, passkeys excepted. It speaks the same JSON as anybody.
'use strict'
;(() => {
  const $ = (selector) => document.querySelector(selector)
  const all = (selector) => [...document.querySelectorAll(selector)]
  const card = $('[data-flow]')
  const supported = !!(window.PublicKeyCredential && PublicKeyCredential.parseRequestOptionsFromJSON)

  /* Buttons that need a script stand there from the start, so that nothing moves; the style hides them where none runs. */
  if (!supported) {
    for (const element of all('[data-passkey], [data-passkeys]')) element.hidden = true
    card?.classList.add('without-passkeys')
  }

  /* One step of the flow. Another tab may have moved it on: then this page is old. Or this very page did, before it was
     reloaded: then it is as good as it was, and reloading would take away what the person is typing. */
  const call = async (action, body, tries = 3) => {
    const response = await fetch(`/v1/flows/${card.dataset.flow}/${action}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ ...body, step: Number(card.dataset.step) }),
    })
    const answer = await response.json()
    const flow = response.ok ? answer : answer.flow
    if (flow) {
      card.dataset.step = flow.step
      for (const input of all('input[name=step]')) input.value = flow.step
    }
    if (response.ok) return answer
    const same = flow?.stage === card.dataset.stage && action === 'passkey/begin' && tries > 1
    if (answer.code === 'step_stale' && same) return call(action, body, tries - 1)
    if (answer.code === 'step_stale') return location.replace(location.href), new Promise(() => {})
    throw Object.assign(new Error(answer.code), { answer })
  }

  const say = (what) => {
    const place = $('#script-problem')
    place.querySelector('p').textContent = place.dataset[what] || place.dataset.failed
    place.hidden = false
    place.focus()
  }

  /* The last word of a ceremony goes as a form: what it leads to may be the app, and only a page can go there. */
  const hand = (action, credential) => {
    const form = document.createElement('form')
    form.method = 'post'
    form.action = `/ui/flow/${card.dataset.flow}`
    const fields = { action, step: card.dataset.step, credential: JSON.stringify(credential.toJSON()) }
    fields.back = $('input[name=back]')?.value ?? new URLSearchParams(location.search).get('back') ?? ''
    fields.app = $('input[name=app]')?.value ?? ''
    for (const [name, value] of Object.entries(fields)) {
      form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }))
    }
    document.body.append(form)
    form.submit()
  }

  const again = () => {
    const address = new URL(location.href)
    address.searchParams.delete('with')
    const back = $('input[name=back]')
    if (back) address.searchParams.set('back', back.value)
    location.replace(address)
  }

  /* One credential call at a time: the button ends the one that waits in the address field. */
  let waiting = null
  let begun = null
  const prove = async (mediation) => {
    waiting?.abort()
    const abort = (waiting = new AbortController())
    try {
      begun = call('passkey/begin', {})
      const { challenge } = await begun
      const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(challenge.public_key)
      const credential = await navigator.credentials.get({ publicKey, mediation, signal: abort.signal })
      hand('passkey/finish', credential)
    } catch (error) {
      if (error.name === 'AbortError' || (mediation === 'conditional' && !error.answer)) return
      say(error.name === 'NotAllowedError' ? 'cancelled' : 'failed')
    }
  }

  const create = async () => {
    try {
      const { challenge } = await call('passkey/enrol_begin', {})
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(challenge.public_key)
      const credential = await navigator.credentials.create({ publicKey })
      hand('passkey/enrol_finish', credential)
    } catch (error) {
      say(error.name === 'NotAllowedError' ? 'cancelled' : error.name === 'InvalidStateError' ? 'known' : 'failed')
    }
  }

  for (const button of all('[data-passkey]')) {
    button.addEventListener('click', () => (button.dataset.passkey === 'create' ? create() : prove('optional')))
  }
  if (card && $('[data-autofill]') && supported) {
    PublicKeyCredential.isConditionalMediationAvailable?.().then((yes) => yes && prove('conditional'))
  }

  /* A form goes out once, and not with a step that is about to change. */
  for (const form of all('form')) {
    let sent = false
    form.addEventListener('submit', async (event) => {
      if (sent) return event.preventDefault()
      sent = true
      waiting?.abort()
      event.submitter?.setAttribute('aria-disabled', 'true')
      if (!begun) return
      event.preventDefault()
      await begun.catch(() => {})
      begun = null
      const { submitter } = event
      if (submitter?.name) {
        const field = Object.assign(document.createElement('input'), { type: 'hidden', name: submitter.name })
        field.value = submitter.value
        form.append(field)
      }
      form.submit()
    })
  }

  for (const input of all('[data-digits]')) {
    input.addEventListener('input', () => {
      const digits = input.value.replace(/\D/g, '')
      if (digits.length === Number(input.dataset.digits)) {
        input.form.requestSubmit(input.form.querySelector('button[name=action]'))
      }
    })
  }

  for (const button of all('[data-reveal]')) {
    const input = document.getElementById(button.dataset.reveal)
    button.addEventListener('click', () => {
      const shown = input.type === 'text'
      input.type = shown ? 'password' : 'text'
      button.setAttribute('aria-pressed', String(!shown))
    })
  }

  for (const button of all('[data-copy]')) {
    button.addEventListener('click', async () => {
      const text = document.getElementById(button.dataset.copy).innerText
      await navigator.clipboard.writeText(text)
      button.textContent = button.dataset.done
    })
  }
  $('[data-print]')?.addEventListener('click', () => print())

  /* Nobody allows a stranger by clicking before they could have read: two seconds in front, counted anew whenever the
     window was behind another one. */
  for (const button of all('[data-arm]')) {
    let timer
    const arm = (seen) => {
      clearTimeout(timer)
      button.disabled = true
      if (seen) timer = setTimeout(() => (button.disabled = false), 2000)
    }
    addEventListener('blur', () => arm(false))
    addEventListener('focus', () => arm(true))
    document.addEventListener('visibilitychange', () => arm(!document.hidden))
    arm(true)
  }

  $('[data-send]')?.submit()

  /* The mailed link was opened in another tab: this one goes on by itself. */
  if (card && $('[data-watch]')) {
    const watch = setInterval(async () => {
      if (document.hidden) return
      const response = await fetch(`/v1/flows/${card.dataset.flow}`, { headers: { accept: 'application/json' } })
      const flow = await response.json().catch(() => null)
      if (!response.ok || !flow) return clearInterval(watch)
      if (flow.stage !== 'challenge') again()
    }, 4000)
    addEventListener('submit', () => clearInterval(watch))
  }

  /* A mailed link: what stands behind # is posted only by the browser that began. */
  const link = $('[data-link]')
  if (link) {
    const [id, token] = location.hash.slice(1).split('.')
    history.replaceState(null, '', location.pathname)
    const form = link.querySelector('form')
    fetch(`/v1/flows/${encodeURIComponent(id)}`, { headers: { accept: 'application/json' } })
      .then((response) => (response.ok ? response.json() : Promise.reject(response)))
      .then((flow) => {
        form.action = `/ui/flow/${flow.id}`
        form.elements.step.value = flow.step
        form.elements.token.value = token
        form.hidden = false
      })
      .catch(() => (link.querySelector('[data-elsewhere]').hidden = false))
  }

  const invitation = $('[data-invitation]')
  if (invitation && location.hash.length > 1) {
    invitation.elements.token.value = decodeURIComponent(location.hash.slice(1))
    history.replaceState(null, '', location.pathname)
    /* Who invites is shown before anything is accepted. */
    invitation.requestSubmit(invitation.querySelector('[value="look"]'))
  }

  /* What is gone here is gone at the passkey provider, too. */
  const unknown = card?.dataset.unknown
  if (unknown && window.PublicKeyCredential?.signalUnknownCredential) {
    PublicKeyCredential.signalUnknownCredential({ rpId: location.hostname, credentialId: unknown }).catch(() => {})
  }
  const known = $('[data-signals]')
  if (known && window.PublicKeyCredential?.signalAllAcceptedCredentials) {
    const told = JSON.parse(known.dataset.signals)
    const { rp_id: rpId, user_id: userId } = told
    const list = { rpId, userId, allAcceptedCredentialIds: told.all_accepted_credential_ids }
    PublicKeyCredential.signalAllAcceptedCredentials(list).catch(() => {})
  }

  $('#problem')?.focus()
  addEventListener('pageshow', (event) => event.persisted && location.reload())
})()
