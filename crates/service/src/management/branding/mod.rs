//! Changes the branding of an organization or a client.

mod endpoint;

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::picture::Picture;
use serde_json::json;

pub use endpoint::routes;

use super::{caller::Caller, platform::clients, standing};
use crate::{
    App,
    api::Seen,
    audit_trail::{self, Target, TrailKind},
    branding::{self, Brand, Owner, decide::Said},
    http::{ProblemCode, RequestContext, TxProblem},
    security_log::EventKind,
    store::{StoreError, Tx},
};

const WRITE: &str = "organization:write";
const WRITE_CLIENT: &str = "platform.clients:write";

/// A change of the branding.
enum Change {
    Said(Said),
    Logo(Box<Picture>),
    NoLogo,
}

async fn find(app: &App, owner: &Owner) -> Result<Brand, StoreError> {
    Ok(branding::find(&app.store, owner).await?.unwrap_or_default())
}

async fn change(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    owner: &Owner,
    seen: Seen,
    change: &Change,
) -> Result<Brand, TxProblem> {
    app.store
        .try_tx("branding.change", |tx| async move {
            held(&tx, caller, owner).await?;
            let before = branding::find(&tx, owner).await?.unwrap_or_default();
            seen.check(before.version)?;
            match change {
                Change::Said(said) if *said == before.said => return Ok(before),
                Change::Said(said) => branding::set_said(&tx, owner, said).await?,
                Change::Logo(picture) => {
                    let digest = digest_of(&picture.bytes);
                    branding::set_logo(&tx, owner, Some((picture, &digest))).await?;
                }
                Change::NoLogo if before.logo.is_none() => return Ok(before),
                Change::NoLogo => branding::set_logo(&tx, owner, None).await?,
            }
            let after = branding::find(&tx, owner).await?.unwrap_or_default();
            written(app, &tx, context, caller, owner, &before, &after).await?;
            Ok(after)
        })
        .await
}

/// Locks the owner, if the caller may still change it. An organization is the one of the caller.
async fn held(tx: &Tx, caller: &Caller, owner: &Owner) -> Result<(), TxProblem> {
    match owner {
        Owner::Organization(_) => standing::enter(tx, caller, WRITE).await.map(|_| ()),
        Owner::Client(id) if !clients::lock(tx, id).await? => Err(ProblemCode::NotFound.into()),
        Owner::Client(_) => standing::still(tx, caller, WRITE_CLIENT).await.map(|_| ()),
    }
}

async fn written(
    app: &App,
    tx: &Tx,
    context: &RequestContext,
    caller: &Caller,
    owner: &Owner,
    before: &Brand,
    after: &Brand,
) -> Result<(), StoreError> {
    match owner {
        Owner::Organization(id) => {
            let target = Target::new("organization", id);
            let event =
                audit_trail::Event::done(TrailKind::OrganizationChanged, caller.actor.clone(), target)
                    .because(caller.reason.clone())
                    .changing(before.told(), after.told());
            audit_trail::record(app, tx, context, (*id).into(), &event).await
        }
        Owner::Client(id) => {
            let more = json!({"before": before.told(), "after": after.told()});
            clients::note(app, tx, context, caller, EventKind::ClientAdministered, id, more).await
        }
    }
}

/// Part of a picture's URI.
fn digest_of(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&digest::digest(&digest::SHA256, bytes).as_ref()[..18])
}
