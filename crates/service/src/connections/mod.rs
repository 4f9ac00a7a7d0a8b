//! Connections to other OpenID providers, by which people sign in to their account, or to one organization
//! (docs/enterprise.md, docs/decisions/0098 and 0120).
//!
//! 1. An administrator of the platform, or of an organization, configures a connection: the provider's issuer, a client
//!    there, and the one algorithm of its ID tokens ([`decide`]).
//! 2. Its metadata and keys are fetched and kept for a while ([`providers`]).
//! 3. A person is sent there with a request of their flow ([`request`]); the answer is exchanged for an ID token, which
//!    is verified ([`exchange`]). What it does not say about a newcomer, a directory may say elsewhere ([`userinfo`]).
//! 4. A test runs the same steps and explains the first that fails ([`examine`]).
//!
//! What an identity leads to is not decided here: `credentials/federated` links it to an account, `directories` to a
//! member of an organization.

mod decide;
mod examine;
mod exchange;
mod providers;
mod recency;
mod request;
mod store;
mod userinfo;

use porteiro_protocol::{
    id::{ConnectionId, OrganizationId},
    jose::Algorithm,
};
use zeroize::Zeroizing;

pub use decide::{Definition, Entry, Unfit};
pub use examine::{Examined, examine, explain};
pub use exchange::{Answer, Broken, Verified, exchange, read_logout};
pub use providers::{Providers, Unusable};
pub use recency::{Recency, Requested};
pub use request::{Secrets, redirect_uri, request};
pub use store::{find, insert, list, organizations, replace};
pub use userinfo::{UserinfoError, complete};

use crate::{
    App,
    fetch::Destination,
    secrets::MasterKeyError,
    store::{StoreError, text_enum},
};

text_enum! {
    /// How we authenticate to the provider (OpenID Connect Core §9).
    ClientAuthentication { SecretBasic = "client_secret_basic", SecretPost = "client_secret_post",
                           PrivateKeyJwt = "private_key_jwt" }
}

/// Whose connection it is, which decides what an identity there is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Owner {
    /// An identity is a credential of an account.
    Deployment,
    /// An identity is that of a member, in this organization alone.
    Organization(OrganizationId, Entry),
}

/// The largest number of connections of one organization.
pub const MOST: i64 = 10;

/// A connection, as stored.
#[derive(Clone)]
pub struct Connection {
    pub id: ConnectionId,
    pub owner: Owner,
    pub name: String,
    pub issuer: String,
    pub client_id: String,
    pub client_authentication: ClientAuthentication,
    /// Encrypted; none with a key of ours.
    sealed_secret: Option<Vec<u8>>,
    pub algorithm: Algorithm,
    pub enabled: bool,
    /// Of an organization's connection: raised when it is disabled, which ends what it vouched for before.
    pub epoch: i64,
    pub version: i64,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "<connection {}>", self.id)
    }
}

/// A connection that a sign-in may use, as everybody sees it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[schemars(rename = "OfferedConnection")]
pub struct Offered {
    pub id: ConnectionId,
    pub name: String,
}

/// Those by which people can sign in now.
pub async fn offered(app: &App) -> Result<Vec<Offered>, StoreError> {
    if app.checked.settings.federation_page_path.is_none() {
        return Ok(Vec::new());
    }
    let all = list(&app.store).await?.into_iter().filter(|connection| connection.enabled);
    Ok(all.map(|it| Offered { id: it.id, name: it.name }).collect())
}

/// Ties the encrypted secret to its connection.
fn context(id: ConnectionId) -> Vec<u8> {
    format!("connection|{id}").into_bytes()
}

/// Encrypts the client secret of a connection.
///
/// # Errors
/// If the crypto library fails.
pub fn seal_secret(app: &App, id: ConnectionId, secret: &str) -> Result<Vec<u8>, MasterKeyError> {
    app.secrets.seal(&context(id), secret.as_bytes(), &*app.entropy)
}

impl Connection {
    fn secret(&self, app: &App) -> Option<Zeroizing<String>> {
        let plain = app.secrets.open(&context(self.id), self.sealed_secret.as_deref()?).ok()?;
        String::from_utf8(plain.to_vec()).ok().map(Zeroizing::new)
    }

    /// Who chose its addresses.
    const fn destination(&self) -> Destination {
        match self.owner {
            Owner::Deployment => Destination::Operators,
            Owner::Organization(_, _) => Destination::Organizations,
        }
    }

    /// What is asked for. Of the deployment's connections nothing but the subject is read; a directory also says how its
    /// members are called.
    const fn scope(&self) -> &'static str {
        match self.owner {
            Owner::Deployment => "openid",
            Owner::Organization(_, _) => "openid profile email",
        }
    }

    /// The host of the issuer, and its port if that is not the usual one.
    pub fn issuer_host(&self) -> String {
        let url = url::Url::parse(&self.issuer).ok();
        let host = |url: &url::Url| Some((url.host_str()?.to_owned(), url.port()));
        match url.as_ref().and_then(host) {
            Some((host, None)) => host,
            Some((host, Some(port))) => format!("{host}:{port}"),
            None => String::new(),
        }
    }

    pub const fn has_secret(&self) -> bool {
        self.sealed_secret.is_some()
    }
}
