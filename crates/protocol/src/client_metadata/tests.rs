use proptest::prelude::*;
use serde_json::json;

use super::*;

const ALLOWED: Allowed<'_> = Allowed {
    auth_methods: &[
        "none",
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
        "tls_client_auth",
        "self_signed_tls_client_auth",
    ],
    grant_types: &["authorization_code", "refresh_token", "client_credentials"],
    default_grant_types: &["authorization_code"],
    response_types: &["code"],
    signing_algs: &["RS256", "PS256", "ES256", "EdDSA"],
};

fn with(members: &Value) -> Value {
    let mut value = json!({"redirect_uris": ["https://client.example/cb"]});
    for (name, member) in members.as_object().unwrap() {
        value[name] = member.clone();
    }
    value
}
fn parse(members: &Value) -> Result<ClientMetadata, MetadataError> {
    ClientMetadata::parse(&with(members), &ALLOWED)
}
fn jwks() -> Value {
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "kid": "1"}]})
}

#[test]
fn defaults_and_absence() {
    let metadata = parse(&json!({"client_uri": null, "contacts": [], "unknown": {"deep": [1]}})).unwrap();
    assert_eq!(
        serde_json::to_value(&metadata).unwrap(),
        json!({
            "redirect_uris": ["https://client.example/cb"],
            "token_endpoint_auth_method": "client_secret_basic",
            "grant_types": ["authorization_code"],
            "response_types": ["code"],
        })
    );
}

#[test]
fn every_member_round_trips() {
    let document = json!({
        "redirect_uris": ["https://client.example/cb", "http://127.0.0.1/cb", "com.example.app:/cb"],
        "client_name": "Relatórios da Ana",
        "token_endpoint_auth_method": "private_key_jwt",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "openid offline_access",
        "contacts": ["ops@client.example"],
        "client_uri": "https://client.example/#about",
        "logo_uri": "https://client.example/logo.png",
        "policy_uri": "https://client.example/policy",
        "tos_uri": "https://client.example/tos",
        "jwks": jwks(),
        "software_id": "4NRB1-0XZABZI9E6-5SM3R",
        "software_version": "2.1",
        "application_type": "native",
        "subject_type": "public",
        "id_token_signed_response_alg": "RS256",
        "userinfo_signed_response_alg": "PS256",
        "request_object_signing_alg": "ES256",
        "token_endpoint_auth_signing_alg": "EdDSA",
        "authorization_signed_response_alg": "ES256",
        "default_max_age": 3600,
        "require_auth_time": false,
        "default_acr_values": ["aal2"],
        "initiate_login_uri": "https://client.example/start",
        "request_uris": ["https://client.example/request.jwt#hash"],
        "post_logout_redirect_uris": ["https://client.example/bye"],
        "backchannel_logout_uri": "https://client.example/logout",
        "backchannel_logout_session_required": true,
        "require_pushed_authorization_requests": true,
        "require_signed_request_object": true,
        "tls_client_auth_san_dns": "client.example",
        "tls_client_certificate_bound_access_tokens": true,
        "dpop_bound_access_tokens": false,
        "authorization_details_types": ["payment_initiation"],
        "kind": "agent",
    });
    let metadata = ClientMetadata::parse(&document, &ALLOWED).unwrap();
    let written = serde_json::to_value(&metadata).unwrap();
    assert_eq!(written, document);
    assert_eq!(serde_json::from_value::<ClientMetadata>(written).unwrap(), metadata);
}

#[test]
fn a_client_that_does_not_say_its_kind_is_an_application() {
    for (members, kind, shown) in [
        (json!({}), ClientKind::Application, None),
        (json!({"kind": null}), ClientKind::Application, None),
        (json!({"kind": "application"}), ClientKind::Application, None),
        (json!({"kind": "service"}), ClientKind::Service, Some("service")),
        (json!({"kind": "agent"}), ClientKind::Agent, Some("agent")),
    ] {
        let metadata = parse(&members).unwrap();
        assert_eq!(metadata.kind, kind, "{members}");
        let written = serde_json::to_value(&metadata).unwrap();
        assert_eq!(written.get("kind").and_then(Value::as_str), shown, "{members}");
    }
}

#[test]
fn redirect_uris_have_an_error_of_their_own() {
    let many: Vec<_> = (0..11).map(|index| format!("https://client.example/{index}")).collect();
    for members in [
        json!({"redirect_uris": null}),
        json!({"redirect_uris": []}),
        json!({"redirect_uris": "https://client.example/cb"}),
        json!({"redirect_uris": [1]}),
        json!({"redirect_uris": ["https://client.example/cb#x"]}),
        json!({"redirect_uris": ["https://client.example/cb", "http://client.example/cb"]}),
        json!({"redirect_uris": many}),
    ] {
        assert_eq!(parse(&members).unwrap_err().code, ErrorCode::InvalidRedirectUri, "{members}");
    }
    let error = parse(&json!({"redirect_uris": ["https://a.example", "javascript:x"]})).unwrap_err();
    assert!(error.detail.starts_with("redirect_uris[1]: "), "{error}");
    assert!(parse(&json!({"redirect_uris": [], "grant_types": ["client_credentials"]})).is_ok());
}

#[test]
fn what_is_wrong_is_refused_and_never_reduced() {
    let private = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "AA", "d": "AA"}]});
    let too_many_keys: Vec<_> = (0..21).map(|_| json!({"kty": "RSA"})).collect();
    for members in [
        json!({"grant_types": ["authorization_code", "password"]}),
        json!({"grant_types": ["implicit"]}),
        json!({"grant_types": "authorization_code"}),
        json!({"response_types": ["code id_token"]}),
        json!({"response_types": ["token"]}),
        json!({"grant_types": ["client_credentials"], "response_types": ["code"]}),
        json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "none"}),
        json!({"token_endpoint_auth_method": "client_secret_jwt"}),
        json!({"token_endpoint_auth_method": "private_key_jwt"}),
        json!({"token_endpoint_auth_method": "self_signed_tls_client_auth"}),
        json!({"token_endpoint_auth_method": "tls_client_auth"}),
        json!({"tls_client_auth_san_dns": "a", "tls_client_auth_san_uri": "b"}),
        json!({"require_signed_request_object": true}),
        json!({"jwks": jwks(), "jwks_uri": "https://client.example/jwks"}),
        json!({"jwks": []}),
        json!({"jwks": {"keys": []}}),
        json!({"jwks": {"keys": [1]}}),
        json!({"jwks": {"keys": [{"kid": "1"}]}}),
        json!({"jwks": {"keys": [{"kty": "RSA", "kid": 1}]}}),
        json!({"jwks": {"keys": [{"kty": "oct"}]}}),
        json!({"jwks": {"keys": [{"kty": "oct", "k": "AA"}]}}),
        json!({"jwks": {"keys": too_many_keys}}),
        json!({"jwks": private}),
        json!({"jwks": {"keys": [{"kty": "RSA", "n": {"a\u{0}": 1}}]}}),
        json!({"jwks_uri": "http://client.example/jwks"}),
        json!({"jwks_uri": "http://127.0.0.1/jwks"}),
        json!({"jwks_uri": "https://client.example/jwks#x"}),
        json!({"jwks_uri": ""}),
        json!({"logo_uri": "javascript:alert(1)"}),
        json!({"logo_uri": "data:image/png,x"}),
        json!({"client_uri": "https://user@client.example"}),
        json!({"client_uri": 7}),
        json!({"tos_uri": format!("https://client.example/{}", "a".repeat(2000))}),
        json!({"application_type": "browser"}),
        json!({"subject_type": "pairwise"}),
        json!({"kind": "robot"}),
        json!({"kind": "Agent"}),
        json!({"kind": ""}),
        json!({"kind": ["agent"]}),
        json!({"kind": true}),
        json!({"id_token_signed_response_alg": "none"}),
        json!({"id_token_signed_response_alg": "HS256"}),
        json!({"default_max_age": -1}),
        json!({"default_max_age": "60"}),
        json!({"require_auth_time": "true"}),
        json!({"scope": ["openid"]}),
        json!({"scope": ""}),
        json!({"scope": " "}),
        json!({"scope": "open\"id"}),
        json!({"contacts": "ops@client.example"}),
        json!({"contacts": [null]}),
        json!({"software_id": "a\u{0}b"}),
        json!({"post_logout_redirect_uris": ["http://client.example/bye"]}),
    ] {
        let error = parse(&members).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidClientMetadata, "{members}");
        // RFC 6749 §5.2.
        assert!(
            error.detail.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e)),
            "{error}"
        );
    }
    for value in [json!(null), json!([]), json!("{}")] {
        assert!(ClientMetadata::parse(&value, &ALLOWED).is_err());
    }
}

#[test]
fn names_read_as_what_they_are() {
    for (name, kept) in [
        ("Cafe\u{301}", "Café"),
        (" Porto 2 – relatórios ", "Porto 2 – relatórios"),
        ("Яндекс", "Яндекс"),
        ("Ελληνικά 24", "Ελληνικά 24"),
        ("LINE アプリ", "LINE アプリ"),
    ] {
        assert_eq!(parse(&json!({"client_name": name})).unwrap().client_name.as_deref(), Some(kept));
    }
    for name in [
        "",
        "   ",
        "Pаypal",
        "Ρaypal",
        "Αндрей",
        "a\u{202e}b",
        "a\u{200b}b",
        "a\u{a0}b",
        "a\nb",
        "a\u{feff}",
        "a\u{e0041}",
        &"x".repeat(81),
    ] {
        assert!(parse(&json!({"client_name": name})).is_err(), "{name:?}");
    }
    assert!(parse(&json!({"client_name": "é".repeat(80)})).is_ok());
}

#[test]
fn an_update_is_for_this_client_and_says_nothing_only_the_server_says() {
    let update = |members: Value| ClientMetadata::parse_update(&with(&members), "c1", &ALLOWED);
    let read = update(json!({"client_id": "c1", "client_secret": "s3cret", "client_name": "New"})).unwrap();
    assert_eq!(read.metadata.client_name.as_deref(), Some("New"));
    assert_eq!(read.client_secret.as_deref().map(String::as_str), Some("s3cret"));
    assert!(!format!("{read:?}").contains("s3cret"));
    assert!(update(json!({"client_id": "c1", "client_id_issued_at": null})).unwrap().client_secret.is_none());
    for members in [
        json!({}),
        json!({"client_id": "c2"}),
        json!({"client_id": 1}),
        json!({"client_id": "c1", "client_secret": 1}),
        json!({"client_id": "c1", "registration_access_token": "x"}),
        json!({"client_id": "c1", "registration_client_uri": "https://op.example/r"}),
        json!({"client_id": "c1", "client_secret_expires_at": 0}),
        json!({"client_id": "c1", "client_id_issued_at": 1}),
        json!({"client_id": "c1", "grant_types": ["password"]}),
    ] {
        assert_eq!(update(members.clone()).unwrap_err().code, ErrorCode::InvalidClientMetadata, "{members}");
    }
}

#[test]
fn a_patch_changes_what_it_names_and_the_whole_is_checked() {
    let before =
        parse(&json!({"client_name": "Old", "contacts": ["ops@client.example"], "jwks": jwks()})).unwrap();
    let patched = |patch: Value| before.patched(patch.as_object().unwrap(), &ALLOWED);
    let after = patched(json!({"client_name": "New", "contacts": null, "kind": "agent"})).unwrap();
    assert_eq!((after.client_name.as_deref(), after.contacts.len()), (Some("New"), 0));
    assert_eq!((after.kind, &after.jwks), (ClientKind::Agent, &before.jwks));
    assert_eq!(before.differences(&after), ["client_name", "contacts", "kind"]);
    assert_eq!(patched(json!({})).unwrap(), before);
    assert!(before.differences(&before).is_empty());

    // Response types follow the grant types.
    let service = patched(json!({"grant_types": ["client_credentials"], "redirect_uris": null})).unwrap();
    assert!(service.response_types.is_empty() && service.redirect_uris.is_empty());
    let back = json!({"grant_types": ["authorization_code"], "redirect_uris": ["https://client.example/cb"]});
    assert_eq!(service.patched(back.as_object().unwrap(), &ALLOWED).unwrap().response_types, ["code"]);

    for (wrong, code) in [
        (json!({"redirect_uri": "https://client.example/cb"}), ErrorCode::InvalidClientMetadata),
        (json!({"redirect_urls": null}), ErrorCode::InvalidClientMetadata),
        (json!({"client_id": "c2"}), ErrorCode::InvalidClientMetadata),
        (json!({"client_secret": "s3cret"}), ErrorCode::InvalidClientMetadata),
        (json!({"jwks_uri": "https://client.example/jwks"}), ErrorCode::InvalidClientMetadata),
        (json!({"jwks": {"keys": null}}), ErrorCode::InvalidClientMetadata),
        (json!({"grant_types": ["password"]}), ErrorCode::InvalidClientMetadata),
        (json!({"redirect_uris": []}), ErrorCode::InvalidRedirectUri),
    ] {
        assert_eq!(patched(wrong.clone()).unwrap_err().code, code, "{wrong}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!("https://client.example/x")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("kty|keys|d", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Accepted metadata is stored and returned unchanged, and is accepted again.
    #[test]
    fn accepted_metadata_is_a_fixed_point(
        name in prop::sample::select(vec![
            "client_name", "jwks", "scope", "contacts", "logo_uri", "default_max_age", "grant_types", "response_types",
            "tls_client_auth_san_dns", "require_auth_time", "application_type", "post_logout_redirect_uris",
        ]),
        value in any_json(),
    ) {
        if let Ok(metadata) = parse(&json!({name: value})) {
            let written = serde_json::to_value(&metadata).unwrap();
            prop_assert!(written.as_object().unwrap().values().all(|value| !value.is_null()));
            prop_assert_eq!(ClientMetadata::parse(&written, &ALLOWED).unwrap(), metadata);
        }
    }
}
