# Every message of the hosted screens. `pt.ftl` has the same ones.

## Everywhere

skip = Skip to content
languages = Language
error-prefix = Error:
error-heading = There is a problem
continue = Continue
cancel = Cancel
back = Back
or = or
show = Show
save = Save
copy = Copy
copied = Copied
print = Print
an-app = the app
moment = { $day } { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
} { $year }, { $time } UTC

## Signing in

sign-in-title = Sign in
sign-in-for = to continue to { $app }
sign-in-new = New here? Enter your e-mail address and we will set things up.
sign-in-instead = Sign in instead
create-account = Create an account
cannot-sign-in = I can’t sign in
address = E-mail address
password = Password
send-code = E-mail me a code
send-code-instead = E-mail me a code instead
send-text = Text me a code
use-password = Use a password
use-text = Use a text message
use-passkey = Use a passkey
passkey-needs-script = Passkeys need JavaScript. Everything else works without it.
password-title = Enter your password
forgot-password = Forgot your password?
text-sign-in-title = Sign in by text message
text-sign-in-text = If you added a phone number to sign in with, we will text a code to it. Text messages can be intercepted; a passkey is safer.

register-title = Create your account
register-text = We will e-mail you a code to check that the address is yours.
recover-title = Get back into your account
recover-text = Enter your e-mail address. We will send you a code to begin.

## Codes

mail-code-title = Check your e-mail
mail-code-sent-to = We sent a six-digit code to { $to }. It works for 10 minutes.
mail-code-sent = We sent you a six-digit code. It works for 10 minutes.
text-code-title = Check your phone
text-code-sent-to = We sent a code to { $to }. It works for 10 minutes.
text-code-sent = We sent you a code. It works for 10 minutes.
text-code-maybe = If this address has a phone number to sign in with, we sent a code to it. It works for 10 minutes.
code-label = Code
phrase = The message should show these words:
send-again = Send a new code
other-address = Use another address
totp-title = Enter the code from your app
totp-label = Code from your authenticator app
recovery-code-title = Use a recovery code
recovery-code-label = Recovery code
recovery-code-hint = One of the codes you saved. Each works once.
link-title = Almost there
link-text = Continue where you began.
link-continue = Continue
link-elsewhere = This link works only in the browser where you began. Go back there and type the code from the message. If you did not ask for it, ignore the message.
link-no-script = Type the code from the message in the window where you began.

## One more step

raise-title = One more step
raise-text = Please confirm that it’s you.
raise-fresh = You are about to change something important. Please confirm that it’s you.
raise-app = { $app } asks for a stronger check.
raise-second = Your account has a second step. Use it to sign in.
raise-recover = Your account has a second step. Use it to get back in.
others = Other ways
way-mail-code = Enter the code from the e-mail
way-text-code = Enter the code from the text message
way-passkey = Use a passkey
way-totp = Use your authenticator app
way-password = Use your password
way-send-text = Text me a code
way-send-mail = E-mail me a code
way-recovery-code = Use a recovery code
way-hold = I have none of these
hold-title = Wait three days
hold-text = Without a second step we can’t be sure it is you. We will notify every address on the account and wait 72 hours. Then come back here and set up a new way to sign in.
hold-start = Start waiting

## Setting things up

profile-title = What should we call you?
profile-text = This is the name you will see here and that apps may ask for.
name = Your name
offer-title = Sign in faster next time
offer-recover-title = Set up a new way to sign in
offer-demanded-title = Set up a stronger sign-in
offer-demanded = This needs a stronger sign-in than your account has. Set it up now to continue.
offer-demanded-app = { $app } asks for a stronger sign-in than your account has. Set it up now to continue.
offer-text = A passkey uses your fingerprint, face or screen lock. There is nothing to remember, and no one can trick you into giving it away.
offer-passkey = Create a passkey
offer-password = Choose a password instead
offer-totp = Use an authenticator app instead
not-now = Not now
notice-already = You already have an account. You are signed in to it.
password-set-title = Choose a password
current-password = Current password
current-password-hint = Leave it empty if you have none.
new-password = New password
new-password-hint = At least 15 characters. A few words work well.
save-password = Save password
totp-enrol-title = Set up an authenticator app
totp-enrol-text = An app on your phone shows a new code every 30 seconds. You will be asked for one when you sign in with a password or by e-mail.
totp-begin = Show the QR code
totp-scan = Scan this with your authenticator app.
totp-qr = QR code for your authenticator app
totp-no-scan = I can’t scan it
totp-type = Type this key into the app:
totp-confirm = Then enter the code the app shows
totp-finish = Turn on
recovery-codes-title = Recovery codes
recovery-codes-text = Ten codes for the day you lose your phone. Each works once. A new set replaces the old one.
recovery-codes-make = Create recovery codes
codes-title = Save these codes
codes-text = Print them or keep them in a password manager. We will not show them again.
codes-saved = I have saved them
add-address-title = Add an e-mail address
add-address-text = We will e-mail you a code to check that the address is yours.
sign-in-with = Sign in with { $name }
continue-with = Continue with { $name }
identity-title = Link another sign-in
connection-title = Sign in with your organization
connection-text = This organization requires you to sign in by its own directory.
identity-text = You sign in there once. From then on it signs you in here too, until you unlink it.
add-number-title = Add a phone number
add-number-text = We will text you a code. Begin with + and the country code. Text messages can be intercepted; a passkey is safer.
number = Phone number
signs-in = Sign in with this number
signs-in-hint = Anyone who gets your text messages could then sign in as you. Leave this off to use the number as a second step.

## Who and what

confirm-title = Choose an account
confirm-as = Continue as { $name }
confirm-switch = Use another account
claim-title = Do you already use this service?
claim-text = { $connection } signed you in as { $identity }. This service does not know yet who that is.
claim-new = Continue with a new account
claim-existing = I already use this service
claim-only-members = You need an account that is already a member of the organization. Otherwise, ask its administrators.
claim-attach-title = Link to your account?
claim-attach-text = From now on, { $identity } at { $connection } will be you in this organization, and nowhere else.
claim-attach = Link and continue
organization-title = Choose an organization
organization-text = Where do you want to use { $app }?
organization-suspended = Suspended: no one can act for it right now
organization-done-title = You are signed in to { $organization }
organization-done-text = Open the apps that your organization uses. They will not ask you to sign in again in this browser.
device-title = Connect a device
device-sign-in = Sign in first. Then type the code your device shows.
device-text = Type the code your device shows.
device-compare = Compare this code with the one your device shows.
device-label = Code on your device
device-hint = Eight letters. Capitals and dashes don’t matter.
device-warning = Continue only if you started this yourself, on a device in front of you. No one needs this code from you for any other reason.
device-elsewhere = This device is on another network. If it is not in front of you, someone may be trying to get into your account: don’t allow it.
device-consent-title = Connect { $app }?
device-shows = Your device should show this code:
device-which = Device
device-from = Network address (IP)
device-when = Requested
device-done-title = Your device is connected
device-done-text = Go back to it. It will continue by itself in a few seconds.
device-done-see = Apps and agents
device-refused-title = Not connected
device-refused-text = The device was not given access. Nothing else changed.
device-expired-title = That code has expired
device-expired-text = Codes work for five minutes. Get a new one on your device.
consent-title = Allow { $app }?
consent-stranger-title = wants access to your account
consent-calls-itself = It calls itself “{ $name }”.
consent-document = What it says about itself is published by { $host }.
consent-unverified = This app has not been verified. Allow it only if you started this yourself and trust where it goes.
consent-verified = This app has been verified by the people who run this service.
consent-first-party = This app is made by { $service }.
consent-organization = You act for { $organization } as { $role }.
consent-may = It would be able to
consent-where = Where
consent-returns = Sends you back to
consent-local = An app on this computer
consent-deny = Don’t allow
consent-allow = Allow
consent-later = You can revoke this at any time, in your account under “Apps and agents”.
consent-policy = Privacy policy
consent-terms = Terms

continuing-title = Continuing to { $app }
continuing-text = You will be back at { $app } in a moment.

sign-out-title = Sign out?
sign-out-text = Apps you signed in to from this browser will be notified.
sign-out = Sign out
sign-out-stay = Stay signed in
signed-out-title = You are signed out
signed-out-text = It is safe to close this window.
signed-out-again = Sign in again

## Account

account = Your account
security-title = Security
security-text = How you sign in, { $name }.
passkeys = Passkeys
passkeys-text = The safest and fastest way to sign in.
add-passkey = Add a passkey
kind-password = Password
kind-totp = Authenticator app
kind-recovery-codes = Recovery codes
password-text = Optional. A passkey is safer.
add-password = Add a password
change-password = Change password
second-steps = Second steps
second-steps-text = Asked for after your password, and when you need to get back in.
add-totp = Set up an authenticator app
add-phone = Add a phone for text messages
add-recovery-codes = Create recovery codes
renew-recovery-codes = Create new recovery codes
identities = Sign-in by other services
identities-text = They can sign you in, but cannot change how you sign in.
link-identity = Link a service
addresses = E-mail addresses
addresses-text = Where we reach you, and where codes go.
add-address = Add an address
added-at = Added { $when }
used-at = Used { $when }
since-at = Since { $when }
seen-at = Seen { $when }
allowed-at = Allowed { $when }
codes-left = { $count ->
    [0] None left
    [one] One left
   *[other] { $count } left
}
badge-exhausted = Locked after too many tries
badge-signs-in = Signs you in
remove = Remove
remove-what = Remove { $what }
remove-sure = You will no longer be able to sign in with it.
rename = Rename
rename-what = Rename { $what }
rename-label = New name
hold-running = Someone asked to recover this account. Unless you stop it, they can do so from { $when }.
hold-stop = It wasn’t me: stop it
sessions-title = Sessions
sessions-text = Where you are signed in.
this-device = This device
device = { $browser } on { $system }
device-unknown = Unknown device
end = Sign out
end-what = Sign out { $what }
end-others = Sign out everywhere else
apps-title = Apps and agents
apps-text = Who may act for you, and for what.
apps-none = You have not allowed any app yet.
app-acts-for = Acts for { $organizations }
app-offline = Also while you are away
delegations = Acting in your name
delegations-text = These agents can use what an app of yours hands to them, within these limits.
delegation-redelegable = May pass it on to another agent
delegation-decided = Decided by the organization for all members
delegation-sure = What the agent got by it ends at once.
trust-first-party = Ours
trust-verified = Verified
trust-unverified = Not verified
withdraw = Revoke
withdraw-what = Revoke { $what }
withdraw-sure = It loses access immediately and has to ask again.
expires-at = Until { $when }
role-owner = owner
role-admin = admin
role-member = member
role-is = As { $role }
badge-revoked = Revoked
badge-suspended = Suspended
approvals-title = Approvals
approvals-text = What apps and agents ask you to approve. Each is for one action, once.
approvals-none = Nothing waits for you.
approvals-decided = Earlier
approval-wants = asks to:
approval-organization = In the organization { $organization }
approval-api = At { $api }
approval-host = Published by { $host }
approval-says = It says:
approval-deny = Deny
approval-pick = To approve, pick the number that the app shows you.
approval-approve = Approve with { $number }
approval-report = I did not ask for this
approval-take-back = Take it back
approval-title = Approve this?
approval-is-approved = You approved this. Until the app has used it, you can take it back.
approval-is-consumed = You approved this, and the app has used it.
approval-is-fetched = You approved this. The app has collected its permission, which lasts five minutes.
approval-is-denied = This was denied. The app cannot do it.
approval-is-blocked = You did not want this. The app cannot ask you for a day.
approval-is-expired = Nobody decided in time, or what it rests on has ended. The app cannot do it.
approvals-all = All approvals
asked-at = Asked { $when }
push = Notifications
push-text = A browser can tell you that something waits, without saying what. You get a mail either way.
push-add = Tell me in this browser
push-failed = This browser does not let us. Allow notifications for this site, and try again.
push-sure = It will not tell you any more.
push-said = Something waits for your decision
push-said-more = An app or agent asks you to approve something.
badge-irreversible = Cannot be undone
badge-approved = Approved
badge-consumed = Approved and used
badge-denied = Denied
badge-blocked = Blocked
badge-expired = Expired
wrong-decided = That was decided already, has expired, or is not allowed any more.
keys-title = Keys
keys-text = For programs that act for you in an organization. Treat a key like a password.
keys-none = You have no keys.
keys-new = New key
keys-nowhere = A key belongs to an organization, and you are not a member of one yet.
keys-nothing = Your roles there have no permissions that a key could use.
key-name = Name
key-name-hint = What it is for.
key-where = Organization
key-permissions = Permissions
key-days = Days until it expires
key-make = Create the key
key-made = This is your new key. Copy it now: we will not show it again.
revoke-sure = Programs that use it stop working immediately.
organizations-title = Organizations
organizations-text = The organizations you belong to.
organizations-none = You don’t belong to an organization yet.
invitations = Invitations
invitation-title = You are invited
invitation-from = { $organization } invites you
invitation-for = The invitation was sent to { $address }.
invitation-look = Show who invites me
invitation-as = Join as { $name }?
invitation-text = Create an account with the address the invitation was sent to, or sign in if you have one.
invitation-token = Invitation
invitation-after = When you are signed in with that address, you also find the invitation in your account under “Organizations”.
join = Join
join-what = Join { $what }
leave = Leave
leave-what = Leave { $what }
leave-sure = You lose access immediately. Only someone there can invite you back.
done-joined = Welcome.
done-left = You have left.
wrong-invitation = That invitation does not work: it was used, was revoked or has expired, or it is for another address. Ask for a new one.
wrong-last-owner = You are the last owner. Make someone else an owner first.
wrong-suspended = That organization is suspended. Ask its administrators.
wrong-authority = A key can only have permissions that you have. Remove some.
wrong-quota = You have reached the limit. Revoke one first.
wrong-key-made = This key was already created, and it is shown only once. It is in the list below; if you did not copy it, revoke it and create another.
wrong-key = Give the key a name, at least one permission, and 1 to 365 days.
activity-title = Activity
activity-text = Recent activity in your account. Of refused sign-in attempts, only the newest are counted.
done-removed = Removed.
done-renamed = Renamed.
done-recovery-stopped = Stopped. No one can get in that way.
done-ended = Signed out there.
done-ended-others = Signed out everywhere else.
done-approved = Approved. The app can do exactly this, once.
done-denied = Denied.
done-wrong-number = That is not the number the app shows, so nothing was approved.
done-blocked = Blocked. The app cannot ask you for a day.
done-push = This browser will tell you.
done-withdrawn = Access revoked.

event-account-created = Account created
event-account-recovered = Access recovered
event-account-recovery-held = Recovery requested; on hold
event-account-recovery-stopped = Recovery stopped
event-sign-in-succeeded = Signed in
event-proof-refused = Sign-in attempt refused
event-proof-limited = Too many attempts stopped
event-attempts = { $count ->
    [one] Sign-in attempt refused
   *[other] { $count } sign-in attempts refused
}
event-credential-added = Sign-in method added
event-credential-changed = Sign-in method changed
event-credential-removed = Sign-in method removed
event-credential-exhausted = Sign-in method locked after too many tries
event-session-raised = Confirmed it was you
event-session-ended = Signed out
event-grant-issued = App signed in
event-grant-refused = App’s access attempt refused
event-grant-reused = Copied app access blocked
event-grant-revoked = App’s access ended
event-approval-requested = App asked for an approval
event-approval-decided = Approval decided
event-approval-redeemed = Approval used by an app
event-approval-client-blocked = App blocked from asking
event-consent-withdrawn = Access revoked
event-delegation-created = Agent allowed to act for you
event-delegation-revoked = Agent’s permission revoked
event-token-exchanged = Agent acted for you
event-assertion-issued = App took your identity to another service
event-assertion-redeemed = App acted for you, vouched for by another server
event-external-identity-linked = An organization linked you to its directory
event-external-identity-removed = The link to a directory was removed
event-account-disabled = Account disabled
event-account-enabled = Account enabled again
event-break-glass-used = Signed in to an organization with a passkey instead of its required sign-in
event-membership-joined = Joined an organization
event-membership-disabled = Access to an organization paused
event-membership-enabled = Access to an organization restored
event-membership-removed = Left an organization
event-membership-changed = Role in an organization changed
event-organization-created = Organization created
event-impersonation-started = A service administrator started to act as you
event-impersonation-ended = A service administrator stopped acting as you
event-api-key-created = Key created
event-api-key-used-first = Key used for the first time
event-api-key-revoked = Key revoked
event-platform-authority-changed = Your administrator permissions changed
event-account-administered = An administrator acted on your account
event-organization-suspended = Organization suspended
event-organization-resumed = Organization resumed
event-other = Something changed

## What can go wrong

wrong-password = That address and password don’t match. Check both, or ask for a code.
wrong-current-password = The current password is not right. Try again.
wrong-code = That code is not right or has expired. Check the newest message, or ask for a new code.
wrong-totp = That code is not right. Wait for the next one and try again.
wrong-totp-enrol = That code is not right. Check that your phone’s clock is correct, then try the next code.
wrong-recovery-code = That recovery code is not right or was used before. Try another.
wrong-link = That link no longer works. Ask for a new code.
wrong-passkey = That passkey did not work here. Try another way.
wrong-generic = That did not work. Try again.
wrong-address = Enter an e-mail address, like name@example.com.
wrong-number = Enter the number with + and the country code, like +1 555 010 0100.
wrong-signs-in = Your numbers must all be for signing in, or all be a second step. Remove the other number first.
wrong-name = Enter a name of 1 to 100 characters.
wrong-password-short = Use at least 15 characters. A few words work well.
wrong-password-long = Use at most 256 characters.
wrong-password-common = Many people use that password. Choose another.
wrong-password-breached = That password has leaked from another service. Choose another.
wrong-password-guessable = That password is too close to your name, address or this service. Choose another.
wrong-user-code = That code is not waiting to be confirmed. Check it on your device, or get a new one there.
wrong-federated = That did not sign you in. If you have not linked it to your account yet, sign in another way first and link it on the page about security. If it is the directory of your organization, ask its administrators.
wrong-identity = It could not be linked. It may be linked to an account already; otherwise try again.
wrong-connection = That service cannot be reached now. Try again later, or sign in another way.
wrong-organization = Choose one of the organizations shown.
wrong-field = Check what you entered and try again.
wrong-moved-on = This page was out of date. Here is where things stand.
wrong-slow-down = { $count ->
    [one] Too many attempts. Try again in a minute.
   *[other] Too many attempts. Try again in { $count } minutes.
}
wrong-unavailable = That could not be done just now. Try again in a moment.
wrong-last-way-in = That is the last way to sign in to your account. Add another one first.
wrong-gone = That no longer exists.
wrong-label = Enter a name of 1 to 60 characters.
script-cancelled = Nothing was chosen, or it took too long. Try again, or choose another way.
script-known = This device already has a passkey for your account.
script-failed = That did not work. Try again in a moment.

problem-again = Start again
problem-for-developers = For developers
problem-not-found-title = Page not found
problem-not-found-text = Check the address, or go back to the app you came from.
problem-internal-title = Something went wrong on our side
problem-internal-text = It is not your fault. Try again in a moment.
problem-flow-title = This page is not for this browser
problem-flow-text = It was opened somewhere else, or your browser blocks cookies. Start again from the app you came from.
problem-expired-title = That took a little too long
problem-expired-text = For your safety we stopped. Start again from the app you came from.
problem-request-title = We can’t continue
problem-request-text = The app sent a request we can’t accept. Nothing happened to your account. Go back and try again, or tell the app’s developers.
problem-origin-title = Request not allowed
problem-origin-text = The request came from another site. Start again here.
problem-slow-title = Too many attempts
problem-slow-text = Wait a minute, then try again.
problem-closed-title = Accounts are by invitation only
problem-closed-text = You can’t create an account here yourself. Ask the people who run this service.
denied-no-account-title = There is no account for this address
denied-no-account-text = Ask the people who run this service for an invitation, or try another address.
denied-unavailable-title = This account can’t be used
denied-unavailable-text = Ask the people who run this service.
denied-unmet-title = A stronger check is needed
denied-unmet-text = What your account needs for this is locked or can’t be used here. Start again to get back in with your e-mail address.
denied-held-title = The wait has begun
denied-held-text = We have notified every address on the account. Come back in 72 hours and set up a new way to sign in.
denied-session-title = You were signed out in the meantime
denied-session-text = Sign in again to continue.
denied-request-title = We can’t continue
denied-request-text = The app can’t get what it asked for with your account. Go back to the app.
denied-organization-title = We can’t open this organization
denied-organization-text = There is no such organization here, or your account can’t use it now. Check the address with whoever gave it to you.
denied-cancelled-title = Stopped
denied-cancelled-text = Nothing was changed.

you-title = Your details
you-text = What we know you by, what we store about you, and how to leave.
profile-name = Name and language
profile-name-label = Your name
profile-language = Language of mails and pages
profile-addresses = E-mail addresses and phone numbers are under
export = Your data
export-text = Everything stored about you, as one file that other programs can read. It has no passwords or keys. We notify every address on the account.
export-now = Download your data
delete-account = Delete your account
delete-account-text = You are signed out everywhere and apps lose access at once. After 14 days your data is deleted for good.
delete-account-sure = Until then you can sign in and keep the account. Apps then have to ask you for access again.
delete-account-now = Delete this account
deletion-running = This account will be deleted on { $when }. Until then you can keep it.
deletion-keep = Keep this account
deletion-requested-title = Your account will be deleted
deletion-requested-text = You are signed out everywhere. To keep the account, sign in within 14 days.
done-saved = Saved.
done-kept = Your account stays.
wrong-owned-alone = You are the only owner of: { $organizations }. Make someone else an owner there first.
wrong-exported = You have downloaded your data several times. Try again in an hour.
wrong-profile = Enter a name of at most 100 characters.
event-account-changed = Name or language changed
event-account-exported = Your data was exported
event-account-deletion-requested = Deletion of the account requested
event-account-deletion-cancelled = Account kept after all
