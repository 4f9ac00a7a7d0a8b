// On the page of approvals only: lets this browser tell its person that something waits.
'use strict'
;(() => {
  const box = document.querySelector('[data-push]')
  if (!box) return
  if (!navigator.serviceWorker || !window.PushManager || !window.Notification) {
    box.hidden = true
    return
  }
  const bytes = (text) => Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
  const subscribe = async () => {
    if ((await Notification.requestPermission()) !== 'granted') throw new Error('not permitted')
    const language = document.documentElement.lang.slice(0, 2)
    await navigator.serviceWorker.register(`/ui/worker.js?lang=${language}`, { scope: '/ui/account/' })
    const { pushManager } = await navigator.serviceWorker.ready
    const options = { userVisibleOnly: true, applicationServerKey: bytes(box.dataset.push) }
    const subscription = await pushManager.subscribe(options).catch(async () => {
      // One that was made for another key stands in the way.
      await (await pushManager.getSubscription())?.unsubscribe()
      return pushManager.subscribe(options)
    })
    const response = await fetch('/v1/account/push-subscriptions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ endpoint: subscription.endpoint }),
    })
    if (!response.ok) throw new Error(String(response.status))
    location.assign('/ui/account/approvals?done=push')
  }
  box.querySelector('button').addEventListener('click', () => {
    const problem = box.querySelector('[role=alert]')
    problem.hidden = true
    subscribe().catch(() => (problem.hidden = false))
  })
})()
