//! Branding: how an organization or a client looks to people who sign in for it. A name, a logo, a colour for light and one
//! for dark pages; nothing that is code (docs/decisions/0062).
//!
//! 1. Whoever may change the organization sets its look; a client's is set by the platform. That they still may is asked
//!    under the lock. Colours nobody could read are refused, and a logo is rebuilt from what draws it.
//! 2. A flow says in whose look it is shown ([`shown`]): an organization's once the request names it or the person proved
//!    to belong to it, else the client's. An address somebody typed decides nothing, and for a client nobody checked
//!    there is no look at all.
//! 3. The logo is served from here, at an address that never shows another one.

mod decide;
mod endpoint;
mod store;

use aws_lc_rs::digest;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::picture::Picture;
use serde::Serialize;
use serde_json::{Value, json};

use self::decide::Said;
pub use self::store::Owner;
use crate::{
    App,
    api::Seen,
    audit::EventKind,
    http::{RequestContext, Route},
    management::Caller,
    members::standing::{self, Lost},
    oauth::authorization::Prepared,
    organizations::{self, Name, Organization, Status},
    platform::clients,
    store::{Reader, StoreError, Tx},
    trail::{self, Target, TrailKind},
};

const WRITE: &str = "organization:write";
const WRITE_CLIENT: &str = "platform.clients:write";

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// A brand as it is stored. Version 0: nothing was ever said.
#[derive(Debug, Clone, Default)]
struct Brand {
    said: Said,
    logo: Option<Logo>,
    version: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Logo {
    digest: String,
    width: u32,
    height: u32,
}

impl Brand {
    /// Nothing was said, or everything taken back.
    fn is_plain(&self) -> bool {
        self.said == Said::default() && self.logo.is_none()
    }

    /// For the trail: which picture, not the picture.
    fn told(&self) -> Value {
        json!({"branding": {
            "name": self.said.name,
            "color": self.said.color,
            "color_dark": self.said.color_dark,
            "logo": self.logo.as_ref().map(|logo| &logo.digest),
        }})
    }
}

fn logo_path(owner: &Owner, digest: &str) -> String {
    match owner {
        Owner::Organization(id) => format!("/v1/branding/organizations/{id}/{digest}"),
        Owner::Client(id) => format!("/v1/branding/clients/{id}/{digest}"),
    }
}

/// In whose look the request is shown, for any front end.
pub async fn shown(
    app: &App,
    reader: &impl Reader,
    prepared: &Prepared,
) -> Result<Option<Value>, StoreError> {
    if !decide::may_dress(prepared.client.trust) {
        return Ok(None);
    }
    if let Some(organization) = organization(reader, prepared).await? {
        let owner = Owner::from(organization.id);
        if let Some(brand) = store::find(reader, &owner).await?.filter(|brand| !brand.is_plain()) {
            return Ok(Some(worn(app, "organization", &owner, brand, Some(organization.name))));
        }
    }
    let owner = Owner::Client(prepared.client.id.clone());
    let brand = store::find(reader, &owner).await?.filter(|brand| !brand.is_plain());
    Ok(brand.map(|brand| worn(app, "client", &owner, brand, prepared.client.metadata.client_name.clone())))
}

/// The organization the person acts for, else the one the request names. A suspended one is not shown.
async fn organization(reader: &impl Reader, prepared: &Prepared) -> Result<Option<Organization>, StoreError> {
    let found = match (&prepared.member, &prepared.request.organization, prepared.client.organization) {
        (Some(member), _, _) => Some(member.organization.clone()),
        (None, Some(text), own) => {
            let named = organizations::find_named(reader, &Name::parse(text)).await?;
            named.filter(|named| own.is_none_or(|own| own == named.id))
        }
        (None, None, Some(own)) => organizations::find(reader, own).await?,
        (None, None, None) => None,
    };
    Ok(found.filter(|organization| organization.status == Status::Enabled))
}

fn worn(app: &App, of: &str, owner: &Owner, brand: Brand, name: Option<String>) -> Value {
    let logo = brand.logo.map(|logo| {
        let uri = format!("{}{}", app.issuer(), logo_path(owner, &logo.digest));
        json!({"uri": uri, "width": logo.width, "height": logo.height})
    });
    json!({
        "of": of,
        "name": brand.said.name.or(name),
        "logo": logo,
        "color": brand.said.color,
        "color_dark": brand.said.color_dark,
    })
}

/// What is to become of a brand.
enum Change {
    Said(Said),
    Logo(Box<Picture>),
    NoLogo,
}

/// What came of it.
enum Changed {
    Yes(Brand),
    NotFound,
    Lost(Lost),
    Stale,
}

async fn find(app: &App, owner: &Owner) -> Result<Brand, StoreError> {
    Ok(store::find(&app.store, owner).await?.unwrap_or_default())
}

async fn change(
    app: &App,
    context: &RequestContext,
    caller: &Caller,
    owner: &Owner,
    seen: Seen,
    change: &Change,
) -> Result<Changed, StoreError> {
    let changed = app
        .store
        .run_tx("branding.change", |tx| async move {
            if let Some(refused) = held(&tx, caller, owner).await? {
                return Ok(refused);
            }
            let before = store::find(&tx, owner).await?.unwrap_or_default();
            if before.version != seen.0 {
                return Ok(Changed::Stale);
            }
            match change {
                Change::Said(said) if *said == before.said => return Ok(Changed::Yes(before)),
                Change::Said(said) => store::set_said(&tx, owner, said).await?,
                Change::Logo(picture) => {
                    let digest = digest_of(&picture.bytes);
                    store::set_logo(&tx, owner, Some((picture, &digest))).await?;
                }
                Change::NoLogo if before.logo.is_none() => return Ok(Changed::Yes(before)),
                Change::NoLogo => store::set_logo(&tx, owner, None).await?,
            }
            let after = store::find(&tx, owner).await?.unwrap_or_default();
            written(app, &tx, context, caller, owner, &before, &after).await?;
            Ok(Changed::Yes(after))
        })
        .await?;
    Ok(changed)
}

/// Its owner under lock, or why nothing is changed. An organization's is the one the caller was let in to.
async fn held(tx: &Tx, caller: &Caller, owner: &Owner) -> Result<Option<Changed>, StoreError> {
    let stands = match owner {
        Owner::Organization(_) => standing::enter(tx, caller, WRITE).await?.map(|standing| standing.held),
        Owner::Client(id) if !clients::lock(tx, id).await? => return Ok(Some(Changed::NotFound)),
        Owner::Client(_) => standing::still(tx, caller, WRITE_CLIENT).await?,
    };
    Ok(stands.err().map(Changed::Lost))
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
            let event = trail::Event::done(TrailKind::OrganizationChanged, caller.actor.clone(), target)
                .because(caller.reason.clone())
                .changing(before.told(), after.told());
            trail::record(app, tx, context, (*id).into(), &event).await
        }
        Owner::Client(id) => {
            let more = json!({"before": before.told(), "after": after.told()});
            clients::note(app, tx, context, caller, EventKind::ClientAdministered, id, more).await
        }
    }
}

/// In the address of a picture.
fn digest_of(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(&digest::digest(&digest::SHA256, bytes).as_ref()[..18])
}
