//! Verifies an assertion by the keys that its issuer publishes. They are found by discovery, through the guarded fetcher, and
//! remembered as those of clients are.

use porteiro_protocol::{
    error::ErrorCode,
    id_jag::{Expected, IdJag},
};
use serde_json::Value;

use super::{
    super::clients::{Client, Unverified},
    invalid_grant,
};
use crate::{
    App,
    fetch::{Destination, FetchError},
    http::OAuthError,
    trusts::AssertionIssuer,
};

const LARGEST: usize = 64 * 1024;

/// The assertion, if all of it is as it must be.
pub async fn verified(
    app: &App,
    client: &Client,
    trust: &AssertionIssuer,
    assertion: &str,
) -> Result<IdJag, OAuthError> {
    let fetch = || published(app, &trust.issuer);
    let (issuer, now) = (trust.issuer.as_str(), app.clock.now());
    let verified = app.issuer_keys.verify(issuer, issuer, now, fetch, assertion, &trust.algorithms).await;
    let verified = verified.map_err(|unverified| match unverified {
        Unverified::Wrong(_) => invalid_grant(
            "the assertion is not signed by a key that its issuer publishes, or not by an algorithm that is trusted",
        ),
        Unverified::Unavailable => {
            let text = "the keys of the assertion's issuer cannot be fetched; try again later";
            OAuthError::new(ErrorCode::TemporarilyUnavailable, text)
        }
    })?;
    let expected =
        Expected { issuer, audience: app.issuer(), client_id: &client.id, now: now.unix_timestamp() };
    let said = IdJag::read(&verified, expected).map_err(|wrong| invalid_grant(&wrong.to_string()))?;
    let here = said.audience_tenant.as_ref().is_none_or(|tenant| *tenant == trust.organization.to_string());
    if said.tenant != trust.tenant || !here {
        return Err(invalid_grant("the assertion is for another tenant"));
    }
    Ok(said)
}

/// OpenID Connect Discovery 1.0 §4: the document must name the issuer, byte by byte.
async fn published(app: &App, issuer: &str) -> Result<Value, FetchError> {
    let url = format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
    let document = app.fetcher.get_json(Destination::Documents, &url, LARGEST).await?;
    let keys = document["jwks_uri"].as_str().filter(|_| document["issuer"] == issuer).ok_or(FetchError)?;
    app.fetcher.get_json(Destination::Documents, keys, LARGEST).await
}
