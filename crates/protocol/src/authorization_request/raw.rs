//! The parameters as received, and phase 1.

use std::{collections::BTreeMap, fmt};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{Refused, ResponseMode, Undeliverable};
use crate::{
    form::Parameters,
    plain_text::is_plain,
    redirect_uri::{MAX_REDIRECT_URI, RedirectUri},
};

/// The parameters that are read. `display` and `claims_locales` are hints without an effect here; they and unknown
/// parameters are ignored (RFC 6749 §3.1).
pub(super) const NAMES: &[&str] = &[
    "acr_values",
    "authorization_details",
    "claims",
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "id_token_hint",
    "login_hint",
    "max_age",
    "nonce",
    "organization",
    "prompt",
    "redirect_uri",
    "request",
    "request_uri",
    "resource",
    "response_mode",
    "response_type",
    "scope",
    "state",
    "ui_locales",
];
/// More than any request needs, including a request object. The service stores requests of senders that are not
/// authenticated.
pub const MAX_REQUEST: usize = 32 * 1024;
/// RFC 9126 §2.2; a random value follows.
const PUSHED: &str = "urn:ietf:params:oauth:request_uri:";

/// Each parameter once, none empty. Serializes as an object of strings.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawRequest {
    pub(super) values: BTreeMap<String, String>,
}

/// The result of phase 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addressee<'a> {
    pub client_id: &'a str,
    pub redirect_uri: Option<&'a str>,
}

/// Where the parameters of the request are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Source<'a> {
    /// In these parameters.
    Here,
    /// RFC 9126: pushed before; this is the whole `request_uri`.
    Pushed(&'a str),
    /// RFC 9101 §5.1: a request object by value.
    Object(&'a str),
    /// RFC 9101 §5.2: a request object by reference, fetched only if registered.
    Reference(&'a str),
}

impl RawRequest {
    #[must_use]
    pub fn from_parameters(parameters: &Parameters) -> Self {
        let values = NAMES
            .iter()
            .filter_map(|name| parameters.get(name).map(|value| ((*name).to_owned(), value.to_owned())));
        Self { values: values.collect() }
    }

    /// The size to store, in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.values.iter().map(|(name, value)| name.len() + value.len()).sum()
    }

    /// The request of an authenticated client (RFC 9126 §2): it may not name another client, nor another key than the
    /// one just proved (RFC 9449 §10.1).
    ///
    /// # Errors
    /// When it does.
    pub fn of_client(mut self, client_id: &str, thumbprint: Option<&str>) -> Result<Self, Refused> {
        for (name, value) in [("client_id", Some(client_id)), ("dpop_jkt", thumbprint)] {
            let Some(value) = value else { continue };
            match self.get(name) {
                Some(other) if other != value => {
                    return Err(Refused::invalid(format!("{name} is not the authenticated one")));
                }
                Some(_) | None => self.values.insert(name.to_owned(), value.to_owned()),
            };
        }
        Ok(self)
    }

    /// For a request that is answered in its own HTTP response.
    #[must_use]
    pub fn without_redirect(mut self) -> Self {
        self.values.remove("redirect_uri");
        self.values.remove("response_mode");
        self.values.entry("response_type".to_owned()).or_insert_with(|| "code".to_owned());
        self
    }

    /// A device authorization request (RFC 8628 §3.1) as an authorization request. The device code is its own
    /// verifier: `challenge` is the hash of its secret part.
    #[must_use]
    pub fn of_device(parameters: &Parameters, client_id: &str, challenge: &[u8; 32]) -> Self {
        const ASKED: &[&str] = &["acr_values", "authorization_details", "organization", "resource", "scope"];
        let asked = ASKED.iter().filter_map(|name| Some((*name, parameters.get(name)?.to_owned())));
        let challenge = URL_SAFE_NO_PAD.encode(challenge);
        let implied = [
            ("client_id", client_id.to_owned()),
            ("response_type", "code".to_owned()),
            ("code_challenge", challenge),
            ("code_challenge_method", "S256".to_owned()),
        ];
        Self { values: asked.chain(implied).map(|(name, value)| (name.to_owned(), value)).collect() }
    }

    /// The same request with the object that was fetched from its `request_uri`.
    #[must_use]
    pub fn with_object(mut self, object: String) -> Self {
        self.values.remove("request_uri");
        self.values.insert("request".to_owned(), object);
        self
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    /// Phase 1.
    ///
    /// # Errors
    /// When the client is not identified, or no client could have registered the redirect URI.
    pub fn addressee(&self) -> Result<Addressee<'_>, Undeliverable> {
        let client_id = self.get("client_id").ok_or(Undeliverable::ClientIdMissing)?;
        let visible = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        // A client id may be the URL of its metadata document.
        if client_id.len() > MAX_REDIRECT_URI || !visible(client_id) {
            return Err(Undeliverable::ClientId);
        }
        let redirect_uri = self.get("redirect_uri");
        if redirect_uri.is_some_and(|uri| uri.len() > MAX_REDIRECT_URI || !visible(uri)) {
            return Err(Undeliverable::RedirectUri);
        }
        Ok(Addressee { client_id, redirect_uri })
    }

    /// The state that an error response must echo (RFC 6749 §4.1.2.1), also for a refused request.
    #[must_use]
    pub fn state(&self) -> Option<&str> {
        self.get("state").filter(|state| is_plain(state))
    }

    /// The response mode of an error: as requested, if it is a known one.
    #[must_use]
    pub fn error_mode(&self) -> ResponseMode {
        self.get("response_mode").and_then(ResponseMode::parse).unwrap_or(ResponseMode::Query)
    }

    /// # Errors
    /// When there are two sources (RFC 9101 §5), or a reference that is neither pushed nor https.
    pub fn source(&self) -> Result<Source<'_>, Refused> {
        match (self.get("request"), self.get("request_uri")) {
            (None, None) => Ok(Source::Here),
            (Some(_), Some(_)) => Err(Refused::invalid("request and request_uri are mutually exclusive")),
            (Some(object), None) => Ok(Source::Object(object)),
            (None, Some(uri)) if uri.starts_with(PUSHED) => Ok(Source::Pushed(uri)),
            (None, Some(uri)) if uri.starts_with("https://") => Ok(Source::Reference(uri)),
            (None, Some(_)) => Err(Refused::new(
                crate::error::ErrorCode::InvalidRequestUri,
                "request_uri must be issued by this server, or be an https URL registered for the client",
            )),
        }
    }
}

impl Addressee<'_> {
    /// The redirect URI of the response: the requested one, if registered; without one, the only registered one
    /// (OAuth 2.1 §4.1.1).
    ///
    /// # Errors
    /// When there is no such URI.
    pub fn choose_redirect_uri(&self, registered: &[RedirectUri]) -> Result<String, Undeliverable> {
        match (self.redirect_uri, registered) {
            (Some(presented), _) if registered.iter().any(|uri| uri.matches(presented)) => {
                Ok(presented.to_owned())
            }
            (Some(_), _) => Err(Undeliverable::RedirectUri),
            (None, [only]) => Ok(only.as_str().to_owned()),
            (None, _) => Err(Undeliverable::RedirectUriMissing),
        }
    }
}

impl fmt::Debug for RawRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RawRequest").field(&self.values.keys()).finish()
    }
}
impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Here => "Here",
            Self::Pushed(_) => "Pushed",
            Self::Object(_) => "Object",
            Self::Reference(_) => "Reference",
        })
    }
}
