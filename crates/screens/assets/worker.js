// The service worker. A message says nothing: something waits. `words`, above, has the sentence for each language.
'use strict'
const language = new URL(location.href).searchParams.get('lang')
const { title, body } = words[language] ?? words.en

addEventListener('push', (event) => {
  // A newer one takes the place of the one before.
  event.waitUntil(registration.showNotification(title, { body, tag: 'approvals', renotify: true }))
})

addEventListener('notificationclick', (event) => {
  event.notification.close()
  event.waitUntil(clients.openWindow('/ui/account/approvals'))
})
