//! The answer on its way to the client: in the query, posted, or signed (JARM).

use porteiro_protocol::{
    authorization_request::{AuthorizationResponse, ResponseMode, redirect_response},
    error::ErrorCode,
    jose::Algorithm,
    time::numeric_date,
};
use serde_json::{Map, Value, json};

use super::{super::clients::Client, Turned, Way};
use crate::{App, oauth::keys::SignError};

/// What the person's browser or app is to do next.
#[derive(Clone, PartialEq, Eq)]
pub enum Delivery {
    Browser(AuthorizationResponse),
    /// Straight into the answer, for a first-party app that has no redirect URI.
    Direct(Vec<(String, String)>),
    /// Nowhere from here: the device hears of it when it polls.
    Device(Confirmed),
}

/// What a person's word about a device came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Confirmed {
    Now,
    /// They had said yes already, in another window.
    Before,
    Not(ErrorCode),
}

impl std::fmt::Debug for Delivery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<delivery>")
    }
}

impl Delivery {
    /// As the flow API says it.
    pub fn to_json(&self) -> Value {
        let object = |fields: &[(String, String)]| {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), json!(value))).collect())
        };
        match self {
            Self::Browser(AuthorizationResponse::Redirect { location }) => {
                json!({"type": "redirect", "uri": location})
            }
            Self::Browser(AuthorizationResponse::FormPost { action, fields }) => {
                json!({"type": "form_post", "action": action, "fields": object(fields)})
            }
            Self::Direct(fields) => json!({"type": "authorization", "response": object(fields)}),
            Self::Device(Confirmed::Now | Confirmed::Before) => {
                json!({"type": "device", "outcome": "approved"})
            }
            Self::Device(Confirmed::Not(error)) => {
                json!({"type": "device", "outcome": "refused", "error": error.as_str()})
            }
        }
    }
}

/// JARM §2.1: short, since it is read at once.
const SIGNED_SECONDS: i64 = 120;

pub async fn deliver(
    app: &App,
    client: &Client,
    redirect_uri: Option<&str>,
    mode: ResponseMode,
    parameters: &[(&str, &str)],
) -> Result<Delivery, SignError> {
    let Some(redirect_uri) = redirect_uri else {
        let owned = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        return Ok(Delivery::Direct(owned.collect()));
    };
    if !mode.is_signed() {
        return Ok(Delivery::Browser(redirect_response(redirect_uri, mode, app.issuer(), parameters)));
    }
    let now = numeric_date(app.clock.now());
    let mut claims = Map::new();
    claims.insert("iss".into(), json!(app.issuer()));
    claims.insert("aud".into(), json!(client.id));
    claims.insert("exp".into(), json!(now + SIGNED_SECONDS));
    for (name, value) in parameters {
        claims.insert((*name).to_owned(), json!(value));
    }
    // The check of the pipeline saw to it that there is one.
    let algorithm = client.metadata.authorization_signed_response_alg.unwrap_or(Algorithm::Es256);
    let response = app.keys.current().signer(algorithm)?.jwt("JWT", &claims).await?;
    Ok(Delivery::Browser(redirect_response(redirect_uri, mode, app.issuer(), &[("response", &response)])))
}

/// A refusal, told to the client.
pub async fn refusal(app: &App, turned: &Turned) -> Result<Delivery, SignError> {
    match turned.way {
        Way::Device => return Ok(Delivery::Device(Confirmed::Not(turned.refused.code))),
        Way::Redirect | Way::Direct => {}
    }
    let mut parameters = vec![
        ("error", turned.refused.code.as_str()),
        ("error_description", turned.refused.description.as_str()),
    ];
    if let Some(state) = &turned.state {
        parameters.push(("state", state));
    }
    deliver(app, &turned.client, turned.redirect_uri.as_deref(), turned.mode, &parameters).await
}
