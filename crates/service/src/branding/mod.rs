//! Branding: how an organization or a client looks to people who sign in. A name, a logo, a colour for light and one
//! for dark pages; no code (docs/decisions/0062).
//!
//! 1. Administrators set the branding of their organization, the platform that of clients (`management/branding`);
//!    their permission is read again under the lock. Unreadable colours are refused, and a logo is rebuilt from its
//!    pixels.
//! 2. A flow has the branding ([`shown`]) of the organization once the request names it or the person proved to be a
//!    member; otherwise the client's. A typed address does not decide it, and unverified clients have no branding.
//! 3. The logo is served from here; its URI never changes its picture.

pub mod decide;
mod store;

use serde::Serialize;
use serde_json::{Value, json};

use self::decide::Said;
pub use self::store::{Owner, find, picture, set_logo, set_said};
use crate::{
    App,
    oauth::clients::Client,
    organizations::{self, Name, Organization, Status},
    store::{Reader, StoreError},
};

/// Stored branding. Version 0: it was never set.
#[derive(Debug, Clone, Default)]
pub struct Brand {
    pub said: Said,
    pub logo: Option<Logo>,
    pub version: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Logo {
    pub digest: String,
    pub width: u32,
    pub height: u32,
}

impl Brand {
    /// Nothing is set, or everything was removed.
    fn is_plain(&self) -> bool {
        self.said == Said::default() && self.logo.is_none()
    }

    /// For the audit trail: the digest of the picture, not the picture.
    pub fn told(&self) -> Value {
        json!({"branding": {
            "name": self.said.name,
            "color": self.said.color,
            "color_dark": self.said.color_dark,
            "logo": self.logo.as_ref().map(|logo| &logo.digest),
        }})
    }
}

pub fn logo_path(owner: &Owner, digest: &str) -> String {
    match owner {
        Owner::Organization(id) => format!("/v1/branding/organizations/{id}/{digest}"),
        Owner::Client(id) => format!("/v1/branding/clients/{id}/{digest}"),
    }
}

/// The audience of a page: the client of the request, if there is one, and what is known of the organization.
#[derive(Debug, Clone, Copy)]
pub struct Audience<'a> {
    pub client: Option<&'a Client>,
    /// The organization the person acts for, once it is known.
    pub acting_for: Option<&'a Organization>,
    /// The organization that the request names, by id or slug.
    pub named: Option<&'a str>,
}

/// The branding of a request, for any front end.
pub async fn shown(
    app: &App,
    reader: &impl Reader,
    audience: Audience<'_>,
) -> Result<Option<Value>, StoreError> {
    if audience.client.is_some_and(|client| !decide::may_have_branding(client.trust)) {
        return Ok(None);
    }
    if let Some(organization) = organization(reader, audience).await? {
        let owner = Owner::from(organization.id);
        if let Some(brand) = store::find(reader, &owner).await?.filter(|brand| !brand.is_plain()) {
            return Ok(Some(worn(app, "organization", &owner, brand, Some(organization.name))));
        }
    }
    let Some(client) = audience.client else { return Ok(None) };
    let owner = Owner::Client(client.id.clone());
    let brand = store::find(reader, &owner).await?.filter(|brand| !brand.is_plain());
    Ok(brand.map(|brand| worn(app, "client", &owner, brand, client.metadata.client_name.clone())))
}

/// The organization the person acts for, else the one the request names. A suspended one is not shown.
async fn organization(
    reader: &impl Reader,
    audience: Audience<'_>,
) -> Result<Option<Organization>, StoreError> {
    let own = audience.client.and_then(|client| client.organization);
    let found = match (audience.acting_for, audience.named, own) {
        (Some(organization), _, _) => Some(organization.clone()),
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
