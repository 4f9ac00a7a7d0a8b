//! The request with which a person is sent to the provider.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{
    id::{ChallengeId, ConnectionId, FlowId},
    pkce::CodeVerifier,
};
use serde_json::{Map, Value, json};
use subtle::ConstantTimeEq;
use url::Url;

use super::{Connection, Owner, Requested, Unusable, providers::Want};
use crate::App;

/// The address that the provider sends people back to. Each connection has its own: an answer at the address of another
/// one is refused (RFC 9700 §4.4.2.2). None where the deployment has no page for it.
pub fn redirect_uri(app: &App, id: ConnectionId) -> Option<String> {
    let page = app.checked.settings.federation_page_path.as_deref()?;
    Some(format!("{}{page}/{id}", app.issuer()))
}

/// What binds one request to its flow. Derived from the challenge, so that nothing has to be stored.
pub struct Secrets {
    flow: FlowId,
    state: String,
    nonce: String,
    verifier: String,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<secrets of a request>")
    }
}

impl Secrets {
    pub fn new(app: &App, flow: FlowId, challenge: ChallengeId) -> Self {
        let (of, which) = (flow.uuid(), challenge.uuid());
        let derive = |what: &[u8]| {
            let parts = [b"federated".as_slice(), what, of.as_bytes(), which.as_bytes()];
            URL_SAFE_NO_PAD.encode(app.secrets.form_token(&parts))
        };
        Self { flow, state: derive(b"state"), nonce: derive(b"nonce"), verifier: derive(b"verifier") }
    }

    /// The page that gets the answer finds the flow by it.
    fn state(&self) -> String {
        format!("{}.{}", self.flow, self.state)
    }

    pub fn is_state(&self, presented: &str) -> bool {
        self.state().as_bytes().ct_eq(presented.as_bytes()).into()
    }

    pub(super) fn nonce(&self) -> &str {
        &self.nonce
    }

    pub(super) fn verifier(&self) -> &str {
        &self.verifier
    }
}

/// The address of the request: code, PKCE with S256, state and nonce, always.
///
/// # Errors
/// Why the provider cannot be used now.
pub async fn request(
    app: &App,
    connection: &Connection,
    secrets: &Secrets,
    requested: Option<Requested>,
) -> Result<String, Unusable> {
    let known = app.providers.get(app, connection, Want::Kept).await?;
    let redirect_uri = redirect_uri(app, connection.id).ok_or(Unusable::JustTried)?;
    let verifier = CodeVerifier::parse(&secrets.verifier).map_err(|_| Unusable::JustTried)?;
    let mut url = Url::parse(&known.provider.authorization_endpoint).map_err(|_| Unusable::Metadata)?;
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &connection.client_id)
        .append_pair("redirect_uri", &redirect_uri)
        .append_pair("scope", connection.scope())
        .append_pair("state", &secrets.state())
        .append_pair("nonce", &secrets.nonce)
        .append_pair("code_challenge", &URL_SAFE_NO_PAD.encode(verifier.challenge()))
        .append_pair("code_challenge_method", "S256");
    // A scope alone may put claims only into userinfo (Core §5.4), which costs another request.
    if let (Owner::Organization(_, entry), true) = (&connection.owner, known.provider.takes_claims) {
        let names = ["email", "email_verified", "name", "preferred_username", &entry.subject_claim];
        let wanted: Map<_, _> = names.map(|name| (name.to_owned(), Value::Null)).into_iter().collect();
        url.query_pairs_mut().append_pair("claims", &json!({"id_token": wanted}).to_string());
    }
    if let Some(requested) = requested {
        url.query_pairs_mut().append_pair("max_age", &requested.max_age.to_string());
        if requested.login {
            url.query_pairs_mut().append_pair("prompt", "login");
        }
    }
    Ok(url.into())
}
