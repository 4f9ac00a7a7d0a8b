//! Client metadata that a client publishes at its id (draft-ietf-oauth-client-id-metadata-document §4).
//!
//! One document is for every server there is. So what it can do beyond what this server serves is left out, where a
//! registration would be refused: no client relies on it here (docs/decisions/0091).

use serde_json::{Map, Value, json};

use super::{Allowed, ClientIdUrl, ClientMetadata, MetadataError, invalid};
use crate::{error::ErrorCode, redirect_uri::RedirectUri};

const METHOD: &str = "token_endpoint_auth_method";
/// What some clients publish beside it, or instead of it.
const METHODS: &str = "token_endpoint_auth_methods_supported";
const PRIVATE_KEY_JWT: &str = "private_key_jwt";
const KINDS: [&str; 3] = ["application", "service", "agent"];
/// §4.1: no secret can be shared by publishing it.
const FORBIDDEN: [&str; 2] = ["client_secret", "client_secret_expires_at"];

impl ClientMetadata {
    /// A client's document, as it was found at `url`.
    ///
    /// # Errors
    /// When it is another client's, holds a secret, or breaks a rule of [`Self::parse`].
    pub fn parse_document(
        value: &Value,
        url: &ClientIdUrl,
        allowed: &Allowed<'_>,
    ) -> Result<Self, MetadataError> {
        let mut document = super::object(value)?.clone();
        document.retain(|_, value| !value.is_null());
        if document.get("client_id").and_then(Value::as_str) != Some(url.as_str()) {
            return Err(invalid("client_id must be the URL of the document"));
        }
        if let Some(name) = FORBIDDEN.iter().find(|name| document.contains_key(**name)) {
            return Err(invalid(format!("{name} must not be published")));
        }
        let method = method(&document, allowed)?;
        document.insert(METHOD.to_owned(), json!(method));
        keep_served(&mut document, "grant_types", allowed.grant_types)?;
        keep_served(&mut document, "response_types", allowed.response_types)?;
        // Assigned by administrators, of this server.
        document.remove("authorization_details_types");
        // Porteiro's own member: other servers may define it differently.
        if !document.get("kind").and_then(Value::as_str).is_some_and(|kind| KINDS.contains(&kind)) {
            document.remove("kind");
        }
        keep_own(&mut document, "post_logout_redirect_uris", url);
        keep_own(&mut document, "redirect_uris", url);
        if document.get("redirect_uris").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            let detail =
                "redirect_uris must contain one with the origin of client_id, or with http on loopback"
                    .to_owned();
            return Err(MetadataError { code: ErrorCode::InvalidRedirectUri, detail });
        }
        Self::parse(&Value::Object(document), allowed)
    }
}

/// How the client proves itself: by its key, wherever it says that it can; else as it says. A client that says nothing
/// has no secret, so it does not prove itself.
fn method(document: &Map<String, Value>, allowed: &Allowed<'_>) -> Result<String, MetadataError> {
    let wrong = |name: &str| invalid(format!("{name} must be a string or an array of strings"));
    let one = document.get(METHOD).map(|value| value.as_str().ok_or_else(|| wrong(METHOD))).transpose()?;
    let many = match document.get(METHODS) {
        None => Vec::new(),
        Some(value) => {
            let texts = value.as_array().map(|items| items.iter().map(Value::as_str).collect());
            texts.and_then(|texts: Option<Vec<&str>>| texts).ok_or_else(|| wrong(METHODS))?
        }
    };
    if one == Some(PRIVATE_KEY_JWT) || many.contains(&PRIVATE_KEY_JWT) {
        return Ok(PRIVATE_KEY_JWT.to_owned());
    }
    let chosen = match one {
        Some(method) => Some(method),
        None if many.is_empty() => Some("none"),
        None => many.into_iter().find(|method| allowed.auth_methods.contains(method)),
    };
    let chosen = chosen.filter(|method| allowed.auth_methods.contains(method));
    let supported = allowed.auth_methods.join(", ");
    let unserved = || invalid(format!("{METHOD} must be one that needs no shared secret: {supported}"));
    chosen.map(str::to_owned).ok_or_else(unserved)
}

/// Leaves out addresses of other origins, at which another party could receive the response.
fn keep_own(document: &mut Map<String, Value>, name: &str, url: &ClientIdUrl) {
    let own = |text: &str| RedirectUri::register(text).is_ok_and(|uri| url.may_redirect_to(&uri));
    if let Some(Value::Array(items)) = document.get_mut(name) {
        items.retain(|item| item.as_str().is_none_or(own));
    }
}

/// Leaves out what is not served here. A list of which nothing is left is refused: its default would be something else.
fn keep_served(document: &mut Map<String, Value>, name: &str, served: &[&str]) -> Result<(), MetadataError> {
    let Some(Value::Array(items)) = document.get_mut(name) else { return Ok(()) };
    let before = items.len();
    items.retain(|item| item.as_str().is_none_or(|item| served.contains(&item)));
    if before > 0 && items.is_empty() {
        return Err(invalid(format!("{name} contains no supported value; supported: {}", served.join(", "))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://tool.example/oauth/client.json";
    const ALLOWED: Allowed<'static> = Allowed {
        auth_methods: &["none", "private_key_jwt", "self_signed_tls_client_auth"],
        grant_types: &["authorization_code", "refresh_token"],
        default_grant_types: &["authorization_code", "refresh_token"],
        response_types: &["code"],
        signing_algs: &["ES256", "RS256"],
    };

    fn parse(more: &Value) -> Result<ClientMetadata, MetadataError> {
        let mut document =
            json!({"client_id": URL, "client_name": "Tool", "redirect_uris": ["http://localhost/callback"]});
        for (name, value) in more.as_object().unwrap() {
            document[name] = value.clone();
        }
        ClientMetadata::parse_document(&document, &ClientIdUrl::parse(URL).unwrap(), &ALLOWED)
    }

    #[test]
    fn the_least_document_is_a_public_client_that_may_stay_signed_in() {
        let metadata = parse(&json!({})).unwrap();
        assert!(metadata.is_public());
        assert_eq!(metadata.grant_types, ["authorization_code", "refresh_token"]);
        assert_eq!(metadata.response_types, ["code"]);
        assert!(metadata.redirect_uris[0].matches("http://localhost:49152/callback"));
    }

    /// As Claude, ChatGPT and Visual Studio Code publish theirs.
    #[test]
    fn what_the_document_says_to_other_servers_is_left_out() {
        let metadata = parse(&json!({
            "grant_types": ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:jwt-bearer",
                            "urn:ietf:params:oauth:grant-type:device_code", "client_credentials"],
            "response_types": ["code", "id_token"],
            "redirect_uris": ["https://tool.example/callback", "https://tool.com/callback", "http://127.0.0.1:33418/",
                              "tool://callback", "com.example.tool:/callback"],
            "post_logout_redirect_uris": ["https://evil.example/"],
            "authorization_details_types": ["payment"],
            "logo_uri": null,
            "kind": "mcp-client",
            "something_unknown": {"a": 1},
        }))
        .unwrap();
        assert_eq!(metadata.grant_types, ["authorization_code", "refresh_token"]);
        assert_eq!(metadata.response_types, ["code"]);
        let uris: Vec<&str> = metadata.redirect_uris.iter().map(RedirectUri::as_str).collect();
        assert_eq!(uris, ["https://tool.example/callback", "http://127.0.0.1:33418/"]);
        assert!(metadata.post_logout_redirect_uris.is_empty());
        assert!(metadata.authorization_details_types.is_empty());
    }

    #[test]
    fn a_key_is_demanded_wherever_it_is_declared() {
        let keys = json!({"keys": [{"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"}]});
        for (one, many) in [
            (json!("private_key_jwt"), Value::Null),
            (json!("private_key_jwt"), json!(["none", "private_key_jwt"])),
            (json!("none"), json!(["none", "private_key_jwt"])),
            (Value::Null, json!(["client_secret_basic", "none", "private_key_jwt"])),
        ] {
            let with = |jwks: &Value| parse(&json!({METHOD: one, METHODS: many, "jwks": jwks}));
            assert_eq!(with(&keys).unwrap().token_endpoint_auth_method, PRIVATE_KEY_JWT, "{one} {many}");
            assert!(with(&Value::Null).is_err(), "without a key: {one} {many}");
        }
        for many in [json!(["none"]), json!(["client_secret_basic", "none"]), json!([])] {
            assert!(parse(&json!({METHODS: many})).unwrap().is_public(), "{many}");
        }
    }

    #[test]
    fn what_is_shared_private_or_another_clients_is_refused() {
        for bad in [
            json!({"client_id": "https://tool.example/oauth/Client.json"}),
            json!({"client_id": "https://tool.example:443/oauth/client.json"}),
            json!({"client_id": null}),
            json!({"client_id": 1}),
            json!({"client_secret": "x"}),
            json!({"client_secret_expires_at": 0}),
            json!({METHOD: "client_secret_basic"}),
            json!({METHOD: "client_secret_post", METHODS: ["none"]}),
            json!({METHOD: "client_secret_jwt"}),
            json!({METHODS: ["client_secret_basic"]}),
            json!({METHODS: "none"}),
            json!({METHODS: [1]}),
            json!({METHOD: ["none"]}),
            json!({"jwks": {"keys": [{"kty": "EC", "d": "AA"}]}}),
            json!({"jwks": {"keys": [{"kty": "oct", "k": "AA"}]}}),
            json!({"grant_types": ["client_credentials"]}),
            json!({"grant_types": "authorization_code"}),
            json!({"response_types": ["token"]}),
            json!({"redirect_uris": ["https://evil.example/callback"]}),
            json!({"redirect_uris": ["javascript:alert(1)"]}),
            json!({"redirect_uris": []}),
            json!({"redirect_uris": null}),
        ] {
            assert!(parse(&bad).is_err(), "{bad}");
        }
        assert!(
            ClientMetadata::parse_document(&json!([]), &ClientIdUrl::parse(URL).unwrap(), &ALLOWED).is_err()
        );
    }
}
