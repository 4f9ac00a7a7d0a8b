//! Back-channel logout by the provider of a connection (OpenID Connect Back-Channel Logout 1.0 §2.5 to §2.8,
//! docs/decisions/0130).
//!
//! 1. The provider posts a logout token to the address of its connection. So many per network and connection are verified.
//! 2. The token is verified as an ID token is, must be a logout token, and counts once.
//! 3. What rests on the session or the subject that it names ends, in one transaction.

mod endpoint;
mod store;

use std::sync::Arc;

use porteiro_protocol::{
    id::{AccountId, ConnectionId, CredentialId, OrganizationId},
    relying_party::SignedOut,
};

use crate::{
    App, accounts,
    connections::{self, Connection, Owner},
    credentials::federated,
    directories::{self, Whom},
    endings,
    http::{RequestContext, Route},
    limits::{self, Bucket, Limited, UPSTREAM_LOGOUT, network},
    secrets::sha256,
    sessions::{self, Ended},
    store::{StoreError, Tx, TxError},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// Why a logout token ends nothing.
#[derive(Debug)]
enum Refused {
    Limited(Limited),
    /// A fixed text that names the rule.
    Unfit(&'static str),
    Store(StoreError),
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

const UNKNOWN: Refused = Refused::Unfit("the connection is unknown or disabled");

async fn receive(
    app: &Arc<App>,
    context: &RequestContext,
    (organization, connection): (Option<&str>, &str),
    token: Option<&str>,
) -> Result<(), Refused> {
    let token = token.ok_or(Refused::Unfit("logout_token is missing"))?;
    let id: ConnectionId = connection.parse().map_err(|_| UNKNOWN)?;
    let found = match organization {
        None => connections::find(&app.store, id).await?,
        Some(place) => {
            let place: OrganizationId = place.parse().map_err(|_| UNKNOWN)?;
            connections::organizations::find(&app.store, place, id).await?
        }
    };
    let connection = found.filter(|connection| connection.enabled).ok_or(UNKNOWN)?;
    // Only a connection that exists has a bucket: ids that a stranger makes up store nothing.
    let rule = UPSTREAM_LOGOUT;
    let whose = [network(context.address).as_slice(), id.uuid().as_bytes()].concat();
    let key = app.secrets.limit_key(rule.name, &whose);
    if let Some(limited) = limits::take(&app.store, &[Bucket { rule, key }]).await? {
        return Err(Refused::Limited(limited));
    }
    let signed_out = connections::read_logout(app, &connection, token).await.map_err(Refused::Unfit)?;
    match &connection.owner {
        Owner::Deployment => end_of_account(app, context, &connection, &signed_out).await,
        Owner::Organization(place, _) => end_of_member(app, context, *place, &connection, &signed_out).await,
    }
}

/// The token counts once: a copy ends nothing that began later.
async fn use_once(
    tx: &Tx,
    connection: &Connection,
    signed_out: &SignedOut,
) -> Result<(), TxError<&'static str>> {
    let hash = sha256(signed_out.id.as_bytes());
    if store::use_once(tx, connection.id, &hash, signed_out.until).await? {
        return Ok(());
    }
    Err(TxError::Refused("the logout token was used before"))
}

async fn end_of_member(
    app: &Arc<App>,
    context: &RequestContext,
    place: OrganizationId,
    connection: &Connection,
    signed_out: &SignedOut,
) -> Result<(), Refused> {
    let done = app
        .store
        .try_tx("federation.sign_out_member", |tx| async move {
            use_once(&tx, connection, signed_out).await?;
            let whom = Whom { subject: signed_out.subject.as_deref(), sid: signed_out.sid.as_deref() };
            directories::sign_out(app, &tx, context, (place, connection.id), whom).await?;
            Ok(())
        })
        .await;
    done.map_err(refused)
}

/// Which sessions of the provider those of an account rest on is not known: all that rest on the identity end.
async fn end_of_account(
    app: &Arc<App>,
    context: &RequestContext,
    connection: &Connection,
    signed_out: &SignedOut,
) -> Result<(), Refused> {
    let no_subject =
        Refused::Unfit("the logout token names no subject, and sessions of this provider are not known here");
    let subject = signed_out.subject.as_deref().ok_or(no_subject)?;
    let linked = federated::find_linked(app, connection, subject).await?;
    let done = app
        .store
        .try_tx("federation.sign_out_account", |tx| async move {
            use_once(&tx, connection, signed_out).await?;
            // §2.8: also if there is nothing to end.
            if let Some((account, credential)) = linked {
                end(app, &tx, context, account, credential).await?;
            }
            Ok(())
        })
        .await;
    done.map_err(refused)
}

async fn end(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    account: AccountId,
    credential: CredentialId,
) -> Result<(), StoreError> {
    accounts::lock(tx, account).await?;
    let reason = Ended::SignedOutElsewhere;
    let ended = sessions::end_resting_on(tx, account, credential, reason).await?;
    endings::sessions_ended(app, tx, context, account, &ended, reason).await
}

fn refused(error: TxError<&'static str>) -> Refused {
    match error {
        TxError::Refused(why) | TxError::Recorded(why) => Refused::Unfit(why),
        TxError::Store(error) => Refused::Store(error),
    }
}
