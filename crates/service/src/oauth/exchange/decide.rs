//! What a token exchange asks for, and whether it is within what the subject token carries. Pure.

use porteiro_protocol::{
    access_token::Claims,
    actor::{Actor, ActorChain, ActorKind, TooDeep},
    authority::{Authority, ScopeMap, Target, Widening},
    error::ErrorCode,
    form::Parameters,
    scope::Scope,
};

use super::super::apis::Api;
use crate::http::OAuthError;

/// RFC 8693 §3.
pub const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// The parameters of an exchange (RFC 8693 §2.1). Parameters that are not known are ignored (RFC 6749 §3.2).
#[derive(Debug)]
pub struct Exchange<'a> {
    pub subject_token: &'a str,
    pub actor_token: Option<&'a str>,
    pub scope: Option<Scope>,
    /// The API that is named by `resource` or `audience`.
    pub target: Option<&'a str>,
    pub details: Option<&'a str>,
    pub organization: Option<&'a str>,
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidRequest, description)
}

/// Reads the form.
///
/// # Errors
/// When a parameter is missing, or asks for what is not offered.
pub fn read(form: &Parameters) -> Result<Exchange<'_>, OAuthError> {
    let subject_token = form.get("subject_token").ok_or_else(|| invalid("subject_token is missing"))?;
    is_access_token("subject_token_type", form.get("subject_token_type"))?;
    if let Some(requested) = form.get("requested_token_type") {
        is_access_token("requested_token_type", Some(requested))?;
    }
    let actor_token = form.get("actor_token");
    match (actor_token, form.get("actor_token_type")) {
        (None, None) => {}
        (None, Some(_)) => return Err(invalid("actor_token_type is for an actor_token, which is missing")),
        (Some(_), kind) => is_access_token("actor_token_type", kind)?,
    }
    let target = match (form.get("resource"), form.get("audience")) {
        (Some(resource), Some(audience)) if resource != audience => {
            let text = "resource and audience name two APIs; a token is for one";
            return Err(OAuthError::new(ErrorCode::InvalidTarget, text));
        }
        (resource, audience) => resource.or(audience),
    };
    let malformed = || OAuthError::new(ErrorCode::InvalidScope, "scope is malformed");
    let scope: Option<Scope> = form.get("scope").map(str::parse).transpose().map_err(|_| malformed())?;
    // No scope at all would still name an API, a member and a role.
    if scope.as_ref().is_some_and(Scope::is_empty) {
        return Err(malformed());
    }
    Ok(Exchange {
        subject_token,
        actor_token,
        scope,
        target,
        details: form.get("authorization_details"),
        organization: form.get("organization"),
    })
}

fn is_access_token(name: &str, value: Option<&str>) -> Result<(), OAuthError> {
    match value {
        Some(ACCESS_TOKEN) => Ok(()),
        Some(_) => Err(invalid(&format!("{name} must be {ACCESS_TOKEN}"))),
        None => Err(invalid(&format!("{name} is missing"))),
    }
}

/// What the subject token carries.
pub fn carried(claims: &Claims) -> Authority {
    let authority = Authority::granted(claims.scope.clone(), claims.audience.clone(), claims.details.clone());
    match claims.organization {
        Some(organization) => authority.acting_for(organization),
        None => authority,
    }
}

/// The same authority at another API, by the scopes which that API takes for those of the first. What is asked for must
/// be named: no scope of one API means anything at another by its name alone.
///
/// # Errors
/// When that API takes nothing from the first, or a scope for none that is carried.
pub fn moved(carried: &Authority, api: &Api, scope: Option<&Scope>) -> Result<Authority, Widening> {
    let from = api.exchanges.iter().find(|exchange| exchange.from == carried.audience());
    let from = from.ok_or(Widening::Audience)?;
    let scope = scope.ok_or(Widening::Scope)?;
    let sources: Vec<Vec<&str>> =
        from.scopes.iter().map(|scope| scope.from.iter().map(String::as_str).collect()).collect();
    let maps: Vec<ScopeMap<'_>> = from
        .scopes
        .iter()
        .zip(&sources)
        .map(|(scope, sources)| ScopeMap { to: &scope.name, from: sources })
        .collect();
    carried.moved(Target { audience: &api.identifier, from: &from.from, maps: &maps }, scope)
}

/// Who acts by the new token: the client, and before it those who acted by the token that is exchanged. A client that
/// acts already does not act twice.
///
/// # Errors
/// When there are as many as there may be.
pub fn chain(before: Option<&ActorChain>, kind: ActorKind, client_id: &str) -> Result<ActorChain, TooDeep> {
    let actor = Actor { kind, id: client_id.to_owned() };
    match before {
        None => Ok(ActorChain::of(actor)),
        Some(before) if acts_already(before, client_id) => Ok(before.clone()),
        Some(before) => before.extended(actor),
    }
}

/// Whether the token is in the hands of this client.
pub fn acts_already(chain: &ActorChain, client_id: &str) -> bool {
    let outermost = chain.outermost();
    match outermost.kind {
        ActorKind::Agent | ActorKind::Service => outermost.id == client_id,
        ActorKind::Staff => false,
    }
}

/// The life of the new token in seconds: no longer than the token that is exchanged, the delegation, and what the API and
/// an exchange allow. None: one of them is over.
pub fn life(now: i64, subject_expires: i64, delegation_expires: i64, api_seconds: i32) -> Option<i32> {
    const MOST: i64 = 300;
    let left = (subject_expires - now).min(delegation_expires - now).min(i64::from(api_seconds)).min(MOST);
    i32::try_from(left).ok().filter(|left| *left > 0)
}
