//! The response to the client: in the query, posted, or signed (JARM).

use porteiro_protocol::{
    authorization_request::{ResponseMode, redirect_response},
    jose::Algorithm,
    time::numeric_date,
};
use serde_json::{Map, json};

use super::{super::clients::Client, Turned};
use crate::{App, flow::Delivery, oauth::keys::SignError};

/// JARM §2.1: short, since it is used at once.
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
    // The response mode was checked, so the client has one.
    let algorithm = client.metadata.authorization_signed_response_alg.unwrap_or(Algorithm::Es256);
    let response = app.keys.current().signer(algorithm)?.jwt("JWT", &claims).await?;
    Ok(Delivery::Browser(redirect_response(redirect_uri, mode, app.issuer(), &[("response", &response)])))
}

/// The error response for the client.
pub async fn refusal(app: &App, turned: &Turned) -> Result<Delivery, SignError> {
    let mut parameters = vec![
        ("error", turned.refused.code.as_str()),
        ("error_description", turned.refused.description.as_str()),
    ];
    if let Some(state) = &turned.state {
        parameters.push(("state", state));
    }
    deliver(app, &turned.client, turned.redirect_uri.as_deref(), turned.mode, &parameters).await
}
