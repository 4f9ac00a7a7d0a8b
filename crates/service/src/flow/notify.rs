//! Mails to people: new devices, changed credentials, pending recoveries; and by which cookie a device is known.

use std::time::Duration;

use porteiro_protocol::{address::EmailAddress, id::AccountId, time::OffsetDateTime};

use super::{complete::sealed, facts::Gathered, state::State};
use crate::{
    App, accounts,
    credentials::{self, CredentialKind},
    http::RequestContext,
    jobs::JobKind,
    mail::{
        self,
        templates::{self, Happening, Locale},
    },
    secrets::{HandleKind, Issued, Route},
    store::{StoreError, Tx},
};

/// Sends a mail to every address of an account, in the account's language, because the browser may be another person's.
/// `locale` is for an account without a language.
pub async fn tell(
    app: &App,
    tx: &Tx,
    account: AccountId,
    locale: &str,
    write: impl Fn(Locale) -> templates::Rendered,
) -> Result<(), StoreError> {
    let own = accounts::find(tx, account).await?.map(|account| account.locale);
    let rendered = write(Locale::negotiate(own.as_deref().unwrap_or(locale)));
    for credential in credentials::find_all(tx, account).await? {
        if credential.kind == CredentialKind::Email
            && let Some(to) = credential.body["address"].as_str()
        {
            mail::enqueue(app, tx, &rendered.to(to)).await?;
        }
    }
    Ok(())
}

/// Notifies the owner at every address that a credential was added or removed (NIST SP 800-63B-4 §4.1.2).
pub async fn tell_owner(
    app: &App,
    tx: &Tx,
    account: AccountId,
    state: &State,
    kind: CredentialKind,
    added: bool,
) -> Result<(), StoreError> {
    notify(app, tx, account, &state.locale, kind, added).await
}

pub async fn notify(
    app: &App,
    tx: &Tx,
    account: AccountId,
    locale: &str,
    kind: CredentialKind,
    added: bool,
) -> Result<(), StoreError> {
    let (info, what) = (kind.info(), happening(app, None));
    let change = if added { info.added } else { info.removed };
    tell(app, tx, account, locale, |locale| templates::credential_changed(locale, change, &what)).await
}

pub async fn tell_hold(
    app: &App,
    tx: &Tx,
    account: AccountId,
    locale: &str,
    until: OffsetDateTime,
) -> Result<(), StoreError> {
    let what = happening(app, None);
    tell(app, tx, account, locale, |locale| templates::recovery_hold_started(locale, until, &what)).await
}

pub const HOLD_REMINDERS: JobKind<App> = JobKind::new("recovery.remind", |app, _| {
    Box::pin(async move { Ok(remind_of_holds(&app).await.map(|_| ())?) })
})
.lease(Duration::from_mins(5))
.every(|_| 86_400);

/// The daily job: reminds the owners of all accounts with a pending recovery, who can stop it.
pub async fn remind_of_holds(app: &App) -> Result<usize, StoreError> {
    let waiting = accounts::in_hold(&app.store).await?;
    for (account, until, locale) in &waiting {
        app.store
            .run_tx(
                "flow.remind_of_hold",
                |tx| async move { tell_hold(app, &tx, *account, locale, *until).await },
            )
            .await?;
    }
    Ok(waiting.len())
}

pub fn happening<'a>(app: &'a App, device: Option<&'a str>) -> Happening<'a> {
    Happening {
        service: &app.checked.settings.service_name,
        at: app.clock.now(),
        device,
        place: None,
        link: None,
    }
}

/// Whether the account signed in before in this browser.
pub(super) fn knows_device(app: &App, context: &RequestContext, account: AccountId) -> bool {
    let device =
        context.device.as_deref().and_then(|text| app.secrets.handles.open(HandleKind::Device, text));
    device.is_some_and(|device| device.route.owner == account.uuid())
}

/// The device cookie: it names the account and, for limits before the account is known, a key of its mail address.
pub(super) fn device(
    app: &App,
    state: &State,
    gathered: &Gathered,
    account: AccountId,
) -> Result<Issued, StoreError> {
    let stored = gathered
        .credentials
        .iter()
        .find(|credential| credential.kind == CredentialKind::Email)
        .and_then(|credential| credential.body["canonical"].as_str().map(str::to_owned));
    let proved = state
        .proved_address
        .as_deref()
        .and_then(|it| EmailAddress::parse(it).ok())
        .map(|it| it.canonical().to_owned());
    let canonical = stored.or(proved).unwrap_or_default();
    let key = app.secrets.identifier_key("email", canonical.as_bytes());
    let row = uuid::Uuid::from_slice(&key[..16]).unwrap_or_default();
    let route = Route { owner: account.uuid(), row, generation: 0 };
    sealed(app.secrets.handles.issue(HandleKind::Device, route, &*app.entropy))
}
