//! The decisions about an authorization request. Pure.

use porteiro_protocol::{
    assurance::Level,
    authority::Authority,
    authorization_request::{AuthorizationRequest, Prompt, Refused, ResponseMode},
    client_metadata::ClientIdUrl,
    error::ErrorCode,
    redirect_uri::RedirectUri,
    scope::Scope,
};
use serde_json::Value;

use super::{
    super::{
        acting,
        apis::Api,
        authority::{self, AskedScope, Requester, requested_authority},
        clients::{Client, OrganizationMode, Profile, Trust},
        grant_types::DEVICE_CODE,
        scopes,
    },
    Way,
};
use crate::permissions::{self, Reach};

/// The input of a check.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub client: &'a Client,
    pub request: &'a AuthorizationRequest,
    /// It was sent to the pushed authorization request endpoint.
    pub pushed: bool,
    /// It was in a request object that the client signed.
    pub signed: bool,
    pub way: Way,
    pub apis: &'a [Api],
    pub issuer: &'a str,
}

/// One check of the pipeline.
pub struct Check {
    pub name: &'static str,
    pub run: for<'a> fn(&Asked<'a>) -> Result<(), Refused>,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All checks of a well-formed request, in order. They run when a request is pushed, when it arrives, and when its
/// flow completes.
pub const CHECKS: &[Check] = &[
    Check { name: "the client may use the grant", run: grant },
    Check { name: "the redirect URI is registered", run: redirect_uri },
    Check { name: "the request was pushed or signed if required", run: way },
    Check { name: "the response mode is available", run: response_mode },
    Check { name: "the requested level is supported", run: level },
    Check { name: "the client may have offline access", run: offline },
    Check { name: "authorization details were pushed or signed", run: details },
    Check { name: "a device receives no administrative scope", run: device },
    Check { name: "the client may act for the organization", run: organization },
    Check { name: "the client may request the authority", run: |asked| authority(asked).map(|_| ()) },
];

pub fn refuse(code: ErrorCode, description: &str) -> Refused {
    Refused { code, description: description.to_owned() }
}

fn grant(asked: &Asked<'_>) -> Result<(), Refused> {
    let unregistered = |text| Err(refuse(ErrorCode::UnauthorizedClient, text));
    match (asked.way, asked.client.profile) {
        (Way::Redirect | Way::Direct, _) if !asked.client.may_use_grant("authorization_code") => {
            unregistered("the client did not register the authorization_code grant")
        }
        (Way::Device, _) if !asked.client.may_use_grant(DEVICE_CODE) => {
            unregistered("the client did not register the device_code grant")
        }
        (Way::Device, _) if asked.client.trust == Trust::Unverified => {
            unregistered("an unverified client cannot use the device_code grant")
        }
        (Way::Device, Profile::Fapi2) => unregistered("FAPI 2.0 does not include the device_code grant"),
        (Way::Redirect | Way::Direct, _) | (Way::Device, Profile::Default) => Ok(()),
    }
}

/// An attacker can send a user code to a victim, so devices get no administrative scopes (docs/decisions/0064): of
/// our own scopes only those open to every client. The scopes of APIs are their owners' responsibility.
fn device(asked: &Asked<'_>) -> Result<(), Refused> {
    match asked.way {
        Way::Redirect | Way::Direct => return Ok(()),
        Way::Device => {}
    }
    let granted = authority(asked)?;
    let ours = granted.audience() == asked.issuer;
    let closed = |name: &str| ours && !(scopes::is_standard(name) && scopes::is_open(name));
    if granted.scope().iter().any(closed) {
        return Err(refuse(
            ErrorCode::InvalidScope,
            "a scope is not available to devices; sign in with a browser",
        ));
    }
    Ok(())
}

/// OpenID Connect Core §3.1.2.1 always requires it; OAuth 2.1 only if several are registered.
fn redirect_uri(asked: &Asked<'_>) -> Result<(), Refused> {
    let redirected = match asked.way {
        Way::Redirect => true,
        Way::Direct | Way::Device => false,
    };
    if asked.request.is_openid() && asked.request.redirect_uri.is_none() && redirected {
        return Err(refuse(ErrorCode::InvalidRequest, "redirect_uri is missing"));
    }
    Ok(())
}

pub fn must_push(client: &Client) -> bool {
    match client.profile {
        Profile::Fapi2 => true,
        Profile::Default => client.metadata.require_pushed_authorization_requests == Some(true),
    }
}

/// RFC 9126 §6, RFC 9101 §10.5, FAPI 2.0 §5.3.2.2.
fn way(asked: &Asked<'_>) -> Result<(), Refused> {
    let metadata = &asked.client.metadata;
    // A device authorization request comes from its client, as a pushed request does.
    if must_push(asked.client) && !asked.pushed && asked.way != Way::Device {
        return Err(refuse(ErrorCode::InvalidRequest, "this client must push its requests (RFC 9126)"));
    }
    if metadata.require_signed_request_object == Some(true) && !asked.signed {
        return Err(refuse(ErrorCode::InvalidRequest, "this client must sign its requests (RFC 9101)"));
    }
    Ok(())
}

/// A signed response only for a client that registered for it (ASVS 10.4.12).
fn response_mode(asked: &Asked<'_>) -> Result<(), Refused> {
    let signs = asked.client.metadata.authorization_signed_response_alg.is_some();
    match asked.request.response_mode {
        Some(mode) if mode.is_signed() && !signs => {
            Err(refuse(ErrorCode::InvalidRequest, "the client is not registered for signed responses"))
        }
        Some(_) | None => Ok(()),
    }
}

pub fn mode(request: &AuthorizationRequest) -> ResponseMode {
    request.response_mode.unwrap_or(ResponseMode::Query)
}

/// Any listed value suffices, so the lowest known one is required; without a known value the request cannot be met.
/// The client's registered default applies where the request requires none (OpenID Connect Registration §2); a
/// voluntary `acr` claim is not a requirement (decision record 0026).
pub fn needed_level(client: &Client, request: &AuthorizationRequest) -> Result<Level, Refused> {
    let acr = request.claims.as_ref().and_then(|claims| claims.id_token.get("acr"));
    let essential = acr.filter(|acr| acr.essential).into_iter();
    let essential = essential.flat_map(|acr| acr.value.iter().chain(acr.values.iter().flatten()));
    let essential: Vec<&str> = essential.map(|value| value.as_str().unwrap_or_default()).collect();
    let silent = request.acr_values.is_empty() && essential.is_empty();
    let values = if silent { &client.metadata.default_acr_values } else { &request.acr_values };
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    Ok(least(&values)?.max(least(&essential)?))
}

fn least(values: &[&str]) -> Result<Level, Refused> {
    if values.is_empty() {
        return Ok(Level::None);
    }
    values.iter().filter_map(|value| Level::parse_acr(value)).min().ok_or_else(|| {
        refuse(ErrorCode::UnmetAuthenticationRequirements, "none of the requested acr_values is supported")
    })
}

fn level(asked: &Asked<'_>) -> Result<(), Refused> {
    needed_level(asked.client, asked.request).map(|_| ())
}

/// OpenID Connect Core §11 for clients that can refresh; refused, not ignored, for others.
fn offline(asked: &Asked<'_>) -> Result<(), Refused> {
    let may = asked.client.may_use_grant("refresh_token");
    if asked.request.scope.contains("offline_access") && !may {
        return Err(refuse(
            ErrorCode::InvalidScope,
            "offline_access requires the refresh_token grant, which the client did not register",
        ));
    }
    Ok(())
}

/// ASVS 10.4.15: authorization details of a confidential client must not pass through the browser unprotected.
fn details(asked: &Asked<'_>) -> Result<(), Refused> {
    let open = !asked.pushed && !asked.signed && asked.way != Way::Device;
    if asked.request.authorization_details.is_some() && open && !asked.client.is_public() {
        return Err(refuse(
            ErrorCode::InvalidRequest,
            "requests with authorization_details must be pushed or signed",
        ));
    }
    Ok(())
}

/// Whether the request may be for an organization at all; which one is decided when the person is known.
fn organization(asked: &Asked<'_>) -> Result<(), Refused> {
    let granted = authority(asked)?;
    let api = asked.apis.iter().find(|api| api.identifier == granted.audience());
    let permissions = acting::needs_organization(&granted, api);
    let named = asked.request.organization.is_some();
    let required = match asked.client.organization_mode {
        OrganizationMode::None if named || permissions => {
            return Err(refuse(ErrorCode::InvalidRequest, "this client does not act for organizations"));
        }
        OrganizationMode::None | OrganizationMode::Optional => false,
        OrganizationMode::Required => true,
    };
    let in_one = named || permissions || required || asked.client.organization.is_some();
    if in_one && granted.scope().iter().any(is_of_the_account) {
        return Err(refuse(
            ErrorCode::InvalidScope,
            "a scope concerns the account itself and cannot be in a token for an organization",
        ));
    }
    Ok(())
}

/// Scopes that concern the account or the platform and are never for an organization.
fn is_of_the_account(name: &str) -> bool {
    let platform = permissions::find(name).is_some_and(|own| match own.reach {
        Reach::Platform => true,
        Reach::Organization => false,
    });
    platform || (scopes::is_standard(name) && !scopes::is_open(name))
}

/// The requested authority, or a refusal.
pub fn authority(asked: &Asked<'_>) -> Result<Authority, Refused> {
    let request = asked.request;
    let details = request.authorization_details.as_ref().and_then(Value::as_array);
    let unnamed = request.scope.is_empty();
    let scope = if unnamed { AskedScope::Registered } else { AskedScope::Read(&request.scope) };
    let wanted = authority::Asked {
        resource: request.resource.as_deref(),
        scope,
        details: details.map(Vec::as_slice).unwrap_or_default(),
        organization: None,
    };
    let requester = Requester::Client(asked.client);
    Ok(requested_authority(requester, wanted, asked.apis, asked.issuer)?.authority)
}

/// Whether consent is required. Earlier consent is valid only if the client cannot be impersonated: it is
/// confidential, or its redirect URI is https (OAuth 2.1 §7.3.1).
pub fn needs_consent(
    client: &Client,
    redirect_uri: Option<&str>,
    request: &AuthorizationRequest,
    authority: &Authority,
    remembered: Option<&Scope>,
) -> bool {
    // All people who run a tool share its document and its loopback address (docs/decisions/0091).
    let proves = !client.is_public() && !ClientIdUrl::is_claimed_by(&client.id);
    let known = proves || redirect_uri.is_none_or(|uri| uri.starts_with("https://"));
    if request.prompts(Prompt::Consent) || !known || !authority.details().is_empty() {
        return true;
    }
    match client.trust {
        Trust::FirstParty => false,
        // The client chose its redirect URI itself, so consent is required every time (docs/decisions/0023).
        Trust::Unverified => true,
        Trust::Verified => !remembered.is_some_and(|scope| scope.covers_all(authority.scope())),
    }
}

/// An error may be redirected without an action of the person only to a verified or first-party client (RFC 9700
/// §4.11.2): otherwise registration would make this service an open redirector.
pub fn may_redirect_errors(client: &Client) -> bool {
    match client.trust {
        Trust::Unverified => false,
        Trust::Verified | Trust::FirstParty => true,
    }
}

/// The host of the redirect URI, as shown to the person.
pub fn shown_host(redirect_uri: &str) -> String {
    RedirectUri::register(redirect_uri)
        .map_or_else(|_| String::new(), |uri| uri.host_for_display().to_owned())
}
