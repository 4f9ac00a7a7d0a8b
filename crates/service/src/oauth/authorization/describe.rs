//! The description of a request for the person: client, trust, destination and scopes.

use porteiro_protocol::{
    authorization_details::{DetailType, unregistered},
    client_metadata::ClientIdUrl,
};
use serde_json::{Value, json};
use time::format_description::well_known::Rfc3339;

use super::{
    super::{
        apis::Api,
        clients::{Client, Trust},
        scopes,
    },
    Prepared, decide,
};
use crate::{flow::Choice, permissions};

pub fn describe(prepared: &Prepared, locale: &str) -> Value {
    let authority = &prepared.authority;
    let scopes: Vec<Value> = authority
        .scope()
        .iter()
        .map(|name| json!({"name": name, "description": words(prepared, name, locale)}))
        .collect();
    let mut request = json!({
        "client": client(&prepared.client),
        "redirect_host": prepared.redirect_uri.as_deref().map(decide::shown_host),
        "audience": authority.audience(),
        "audience_name": prepared.api.as_ref().map(|api| api.name.as_str()),
        "scopes": scopes,
        "details": details(prepared, locale),
    });
    if let Some(device) = &prepared.device {
        request["device"] = json!({
            "user_code": device.user_code,
            "address": device.address,
            "user_agent": device.user_agent,
            "asked_at": device.at.format(&Rfc3339).unwrap_or_default(),
            "same_network": device.same_network,
        });
    }
    if let Some(member) = &prepared.member {
        request["organization"] = json!(Choice::from(member));
    }
    if let Some(hint) = &prepared.request.login_hint {
        request["login_hint"] = json!(hint);
    }
    request
}

/// Each detail in the words of its API and as JSON.
fn details(prepared: &Prepared, locale: &str) -> Vec<Value> {
    let api = prepared.api.as_ref();
    let shown = |detail: &Value| {
        let known = kind(api, detail);
        json!({"text": known.map(|known| known.render(detail, locale)), "detail": detail})
    };
    prepared.authority.details().iter().map(shown).collect()
}

/// The registered type of this detail.
fn kind<'a>(api: Option<&'a Api>, detail: &Value) -> Option<&'a DetailType> {
    api?.details.iter().find(|one| detail["type"] == one.name.as_str())
}

/// Logo and links only of verified and first-party clients: an unverified one could use them to deceive.
fn client(client: &Client) -> Value {
    let metadata = &client.metadata;
    let mut shown = json!({"id": client.id, "name": metadata.client_name, "trust": client.trust});
    // Who publishes what the client says of itself: the one thing about it that is known.
    if let Ok(url) = ClientIdUrl::parse(&client.id) {
        shown["document_host"] = json!(url.host());
    }
    let links = [
        ("uri", &metadata.client_uri),
        ("policy_uri", &metadata.policy_uri),
        ("tos_uri", &metadata.tos_uri),
        ("logo_uri", &metadata.logo_uri),
    ];
    match client.trust {
        Trust::Unverified => {}
        Trust::Verified | Trust::FirstParty => {
            for (name, value) in links {
                if let Some(value) = value {
                    shown[name] = json!(value);
                }
            }
        }
    }
    shown
}

fn words(prepared: &Prepared, name: &str, locale: &str) -> String {
    let [en, pt] = scope_in_words(prepared.api.as_ref(), name);
    if locale.starts_with("pt") { pt } else { en }
}

/// In English and in Portuguese; a scope that no longer exists is shown by its name.
fn scope_in_words(api: Option<&Api>, name: &str) -> [String; 2] {
    let both = |en: &str, pt: &str| [en.to_owned(), pt.to_owned()];
    if let Some(scope) = scopes::STANDARD_SCOPES.iter().find(|scope| scope.name == name) {
        return both(scope.en, scope.pt);
    }
    if let (None, Some(own)) = (api, permissions::find(name)) {
        return both(own.en, own.pt);
    }
    let scope = api.and_then(|api| api.scope(name));
    scope.map_or_else(|| both(name, name), |scope| both(&scope.description.en, &scope.description.pt))
}

/// What a grant allows its client, in the words of the consent.
pub fn in_words(api: Option<&Api>, scope: &str, details: &[Value]) -> Vec<Value> {
    let scopes = scope.split_ascii_whitespace().map(|name| scope_in_words(api, name));
    let details = details.iter().map(|detail| match kind(api, detail) {
        Some(known) => [known.render(detail, "en"), known.render(detail, "pt")],
        None => [unregistered(detail), unregistered(detail)],
    });
    scopes.chain(details).map(|[en, pt]| json!({"en": en, "pt": pt})).collect()
}
