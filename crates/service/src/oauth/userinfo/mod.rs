//! Userinfo (OpenID Connect Core §5.3): the claims of the scopes that a person allowed. The `claims` parameter adds
//! none: consent is about scopes, and every claim belongs to one. The token may be for any API; it needs `openid`.

mod endpoint;
mod store;

use std::sync::Arc;

use porteiro_protocol::{error::ErrorCode, time::numeric_date};
use serde_json::{Map, Value, json};

use super::{
    access_token::{self, Bearer, Carried},
    clients::Client,
    minting,
    scopes::STANDARD_SCOPES,
};
use crate::{
    App,
    http::{OAuthError, RequestContext, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// JSON, or signed where the client registered for it (§5.3.2).
enum Answer {
    Plain(Value),
    Signed(String),
}

async fn respond(
    app: &Arc<App>,
    context: &RequestContext,
    request: &Carried<'_>,
) -> Result<(Arc<Client>, Answer), OAuthError> {
    let bearer = access_token::check(app, context, request, "openid").await?;
    let client = app.directory.client(&app.store, &bearer.client_id).await?;
    let client = client.ok_or_else(access_token::invalid_token)?;
    let person = store::find(&app.store, bearer.grant, bearer.account).await?;
    let person = person.ok_or_else(access_token::invalid_token)?;
    let claims = claims(&bearer, &person);
    let answer = sign(app, &client, claims).await?;
    Ok((client, answer))
}

/// `sub` always; the others if they are allowed and known.
fn claims(bearer: &Bearer, person: &store::Person) -> Map<String, Value> {
    let by_scope = STANDARD_SCOPES
        .iter()
        .filter(|scope| bearer.scope.contains(scope.name))
        .flat_map(|scope| scope.claims.iter().copied());
    let mut claims = Map::new();
    claims.insert("sub".into(), json!(bearer.subject));
    for name in by_scope {
        if let Some(value) = person.claim(name) {
            claims.insert(name.to_owned(), value);
        }
    }
    claims
}

async fn sign(app: &App, client: &Client, mut claims: Map<String, Value>) -> Result<Answer, OAuthError> {
    let Some(algorithm) = client.metadata.userinfo_signed_response_alg else {
        return Ok(Answer::Plain(Value::Object(claims)));
    };
    claims.insert("iss".into(), json!(app.issuer()));
    claims.insert("aud".into(), json!(client.id));
    claims.insert("iat".into(), json!(numeric_date(app.clock.now())));
    minting::sign(app, algorithm, "JWT", &claims).await.map(Answer::Signed)
}

fn unreadable() -> OAuthError {
    OAuthError::new(
        ErrorCode::InvalidRequest,
        "send the token in the Authorization header, or as the only form parameter",
    )
}
