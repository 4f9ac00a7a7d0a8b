//! Discovery: OpenID Connect Discovery 1.0, RFC 8414, RFC 9728.
//!
//! Nothing is written here by hand. Grants, client authentication methods, scopes, algorithms and endpoints come from
//! the registers that serve them, so the documents announce what is served. What APIs registered is read from the
//! directory; each of their URLs has a document of its own ([`resources`]). Each of our own documents also contains itself
//! as a signed JWT (`signed_metadata`, RFC 8414 §2.1, RFC 9728 §2.2), signed with EdDSA: deterministic, so every node
//! publishes the same bytes. It is created once per key rings of a node (`keys::Rings::documents`); new rings get a
//! new document.

mod details_types;
mod endpoint;
mod resources;

use std::{sync::Arc, time::Duration};

use porteiro_protocol::{
    assurance::{ACR_AAL1, ACR_AAL2},
    authorization_request::{Prompt, ResponseMode},
    dpop, id_jag,
    jose::Algorithm,
    metadata::{AuthorizationServer, Endpoints, ProtectedResource},
};
use serde::Serialize;
use tokio::time::timeout;

use super::{
    apis::Api,
    client_documents, clients,
    grant_types::GRANT_TYPES,
    keys::{SignError, Signer},
    scopes,
};
use crate::{
    App,
    http::{Document, Route},
};

pub fn routes() -> Vec<Route> {
    endpoint::routes()
}

/// Where types of authorization details are described.
const DETAILS_TYPES: &str = "/connect/authorization-details-types";

/// How long discovery waits for the database, which it can do without.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// A document with its signed form.
#[derive(Debug, Serialize)]
struct Signed<T> {
    #[serde(flatten)]
    document: T,
    signed_metadata: String,
}

#[derive(Serialize)]
struct Claims<'a, T> {
    iss: &'a str,
    #[serde(flatten)]
    document: &'a T,
}

async fn signed<T: Serialize>(
    app: &App,
    signer: &Arc<dyn Signer>,
    document: T,
) -> Result<Document, SignError> {
    let claims = Claims { iss: app.issuer(), document: &document };
    let signed_metadata = signer.jwt("metadata+jwt", &claims).await?;
    Ok(Document::new(app, "application/json", &Signed { document, signed_metadata })?)
}

/// About our own APIs. Created at the first request; of two concurrent results, which are equal, one is kept.
async fn own_resource(app: &App) -> Result<Document, SignError> {
    let rings = app.keys.current();
    // Checked each time: a node with stale keys must not publish even an existing signature.
    let signer = rings.signer(Algorithm::EdDsa)?;
    if let Some(written) = rings.documents.resource.get() {
        return Ok(written.clone());
    }
    let written = signed(app, &signer, protected_resource(app)).await?;
    Ok(rings.documents.resource.get_or_init(|| written).clone())
}

/// About the authorization server. It names what APIs registered, so it is written again when they change. Without the
/// database it stays as it was.
async fn server(app: &App) -> Result<Document, SignError> {
    let apis = timeout(LONGEST_WAIT, app.directory.apis(&app.store)).await;
    let apis = apis.ok().and_then(Result::ok);
    let rings = app.keys.current();
    let signer = rings.signer(Algorithm::EdDsa)?;
    let version = apis.as_ref().map(|apis| apis.version());
    if let Some(written) = rings.documents.server.get(version) {
        return Ok(written);
    }
    let registered = apis.as_ref().map(|apis| &apis[..]).unwrap_or_default();
    let written = signed(app, &signer, authorization_server(app, registered)).await?;
    if let Some(version) = version {
        rings.documents.server.keep(version, written.clone());
    }
    Ok(written)
}

fn authorization_server(app: &App, apis: &[Api]) -> AuthorizationServer {
    let issuer = app.issuer();
    let settings = &app.checked.settings;
    let grants: Vec<_> = GRANT_TYPES.iter().filter(|grant| (grant.served)(settings)).collect();
    let response_types: Vec<_> = grants.iter().filter_map(|grant| grant.response_type).collect();
    let algorithms: Vec<_> = Algorithm::ALL.iter().map(|one| one.as_str()).collect();
    AuthorizationServer {
        issuer: issuer.to_owned(),
        endpoints: endpoints(app, issuer),
        jwks_uri: format!("{issuer}/.well-known/jwks.json"),
        scopes_supported: scopes::STANDARD_SCOPES.iter().map(|scope| scope.name).collect(),
        response_types_supported: response_types,
        response_modes_supported: ResponseMode::ALL.iter().map(|mode| mode.as_str()).collect(),
        grant_types_supported: grants.iter().map(|grant| grant.name).collect(),
        mtls_endpoint_aliases: aliases(app),
        token_endpoint_auth_methods_supported: clients::METHODS
            .iter()
            .filter(|method| (method.served)(settings))
            .map(|method| method.name)
            .collect(),
        token_endpoint_auth_signing_alg_values_supported: clients::ALLOWED.signing_algs.to_vec(),
        code_challenge_methods_supported: vec!["S256"],
        subject_types_supported: vec!["public"],
        id_token_signing_alg_values_supported: algorithms.clone(),
        userinfo_signing_alg_values_supported: algorithms.clone(),
        request_object_signing_alg_values_supported: algorithms.clone(),
        authorization_signing_alg_values_supported: algorithms.clone(),
        backchannel_token_delivery_modes_supported: vec!["poll", "ping"],
        backchannel_authentication_request_signing_alg_values_supported: algorithms,
        backchannel_user_code_parameter_supported: false,
        dpop_signing_alg_values_supported: dpop::ALGORITHMS
            .iter()
            .map(|algorithm| algorithm.as_str())
            .collect(),
        acr_values_supported: vec![ACR_AAL1, ACR_AAL2],
        claims_supported: scopes::STANDARD_SCOPES
            .iter()
            .flat_map(|scope| scope.claims.iter().copied())
            .collect(),
        prompt_values_supported: Prompt::ALL.iter().map(|prompt| prompt.as_str()).collect(),
        claims_parameter_supported: true,
        request_parameter_supported: true,
        request_uri_parameter_supported: true,
        require_request_uri_registration: true,
        authorization_response_iss_parameter_supported: true,
        client_id_metadata_document_supported: client_documents::is_open(app),
        tls_client_certificate_bound_access_tokens: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        identity_chaining_requested_token_types_supported: vec![id_jag::TOKEN_TYPE],
        authorization_grant_profiles_supported: vec![id_jag::GRANT_PROFILE],
        ui_locales_supported: vec!["en", "pt"],
        authorization_details_types_supported: resources::details_types(apis),
        authorization_details_types_metadata_endpoint: format!("{issuer}{DETAILS_TYPES}"),
        protected_resources: resources::all(issuer, apis),
    }
}

/// An endpoint is announced exactly when its route is in the table.
fn endpoints(app: &App, base: &str) -> Endpoints {
    let table = crate::table();
    let served = |path: &str| table.iter().any(|route| route.path == path).then(|| format!("{base}{path}"));
    Endpoints {
        authorization_endpoint: served("/connect/authorize"),
        token_endpoint: served("/connect/token"),
        userinfo_endpoint: served("/connect/userinfo"),
        registration_endpoint: served("/connect/register")
            .filter(|_| app.checked.settings.client_registrations_per_hour > 0),
        pushed_authorization_request_endpoint: served("/connect/par"),
        device_authorization_endpoint: served("/connect/device")
            .filter(|_| app.checked.settings.device_page_path.is_some()),
        backchannel_authentication_endpoint: served("/connect/ciba"),
        introspection_endpoint: served("/connect/introspect"),
        revocation_endpoint: served("/connect/revoke"),
        end_session_endpoint: served("/connect/logout"),
    }
}

/// RFC 8705 §5: the endpoints where a certificate authenticates the client or binds a token.
fn aliases(app: &App) -> Option<Endpoints> {
    let base = app.checked.settings.mtls_base_url.as_deref()?.trim_end_matches('/');
    Some(Endpoints {
        authorization_endpoint: None,
        registration_endpoint: None,
        end_session_endpoint: None,
        ..endpoints(app, base)
    })
}

fn protected_resource(app: &App) -> ProtectedResource {
    ProtectedResource {
        resource: app.issuer().to_owned(),
        authorization_servers: vec![app.issuer().to_owned()],
        bearer_methods_supported: vec!["header"],
        scopes_supported: scopes::STANDARD_SCOPES.iter().map(|scope| scope.name.to_owned()).collect(),
        resource_name: "Porteiro".to_owned(),
        authorization_details_types_supported: Vec::new(),
    }
}
