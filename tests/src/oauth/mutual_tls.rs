//! RFC 8705 §2: clients that prove themselves with a certificate.

use std::{net::SocketAddr, sync::Arc};

use axum::body::Body;
use base64::{Engine, engine::general_purpose::STANDARD, engine::general_purpose::URL_SAFE_NO_PAD};
use http::Request;
use porteiro_service::{
    http::Peer,
    oauth::{
        apis,
        clients::{self, Trust},
    },
};
use porteiro_testkit::TestApp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, SanType,
};
use serde_json::{Value, json};

use super::{encode, ledger, service};

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    Authority { issuer: Issuer::new(params, key), pem }
}

/// A robot's certificate, before somebody signs it.
fn robot() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Robots");
    params.distinguished_name.push(DnType::CommonName, "robot-1");
    params.subject_alt_names = vec![
        SanType::DnsName("robot-1.example.test".try_into().unwrap()),
        SanType::URI("spiffe://example.test/robot-1".try_into().unwrap()),
        SanType::IpAddress([192, 0, 2, 7].into()),
        SanType::Rfc822Name("robot-1@example.test".try_into().unwrap()),
    ];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

impl Authority {
    fn sign(&self, params: &CertificateParams) -> Vec<u8> {
        params.signed_by(&KeyPair::generate().unwrap(), &self.issuer).unwrap().der().to_vec()
    }
}

async fn start(ca: Option<&str>) -> TestApp {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), ca.unwrap_or_default()).unwrap();
    let app = TestApp::builder()
        .settings(|settings| {
            settings.client_certificate_header = Some("x-client-certificate".into());
            settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
            settings.mtls_ca_file = ca.map(|_| file.path().into());
        })
        .start()
        .await;
    apis::register(&app.app.store, &ledger()).await.unwrap();
    app
}

async fn token(app: &TestApp, client: &Value, certificate: Option<&[u8]>, more: &[(&str, &str)]) -> u16 {
    let mut form = vec![
        ("grant_type", "client_credentials"),
        ("scope", "invoices:read"),
        ("client_id", client["client_id"].as_str().unwrap()),
    ];
    form.extend_from_slice(more);
    let mut request = Request::post("/connect/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .body(Body::from(encode(&form)))
        .unwrap();
    let address = SocketAddr::from(([203, 0, 113, 7], 4242));
    let certificate = certificate.map(|der| Arc::new(der.to_vec()));
    request.extensions_mut().insert(Peer { address, certificate });
    app.send(request).await.status.as_u16()
}

#[tokio::test]
async fn a_certificate_of_our_authority_for_the_registered_subject_proves_a_client() {
    let (ours, theirs) = (authority("Ours"), authority("Theirs"));
    let app = start(Some(&ours.pem)).await;
    let good = ours.sign(&robot());
    for (member, right, wrong) in [
        ("tls_client_auth_subject_dn", "CN=robot-1,O=Robots", "CN=robot-2,O=Robots"),
        ("tls_client_auth_san_dns", "robot-1.example.test", "robot-2.example.test"),
        ("tls_client_auth_san_uri", "spiffe://example.test/robot-1", "spiffe://example.test/robot-2"),
        ("tls_client_auth_san_ip", "192.0.2.7", "192.0.2.8"),
        ("tls_client_auth_san_email", "robot-1@example.test", "robot-2@example.test"),
    ] {
        let client = service(&app, "tls_client_auth", json!({member: right})).await;
        assert!(client["client_secret"].is_null());
        assert_eq!(token(&app, &client, Some(&good), &[]).await, 200, "{member}");
        let other = service(&app, "tls_client_auth", json!({member: wrong})).await;
        assert_eq!(token(&app, &other, Some(&good), &[]).await, 401, "{member}");
    }

    let client =
        service(&app, "tls_client_auth", json!({"tls_client_auth_san_dns": "robot-1.example.test"})).await;
    let mut expired = robot();
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let mut early = robot();
    early.not_before = rcgen::date_time_ymd(2099, 1, 1);
    let mut for_servers = robot();
    for_servers.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let self_signed = robot().self_signed(&KeyPair::generate().unwrap()).unwrap();
    for (what, certificate) in [
        ("none", None),
        ("another authority's", Some(theirs.sign(&robot()))),
        ("its own", Some(self_signed.der().to_vec())),
        ("expired", Some(ours.sign(&expired))),
        ("not yet valid", Some(ours.sign(&early))),
        ("for servers", Some(ours.sign(&for_servers))),
        ("junk", Some(b"junk".to_vec())),
        ("empty", Some(Vec::new())),
        ("cut", Some(good[..good.len() - 1].to_vec())),
        ("longer", Some([good.as_slice(), b"x"].concat())),
    ] {
        assert_eq!(token(&app, &client, certificate.as_deref(), &[]).await, 401, "{what}");
    }
    // The registered way and nothing else.
    assert_eq!(token(&app, &client, Some(&good), &[("client_secret", "pt_cs_x")]).await, 401);
    let by_secret = service(&app, "client_secret_post", json!({})).await;
    assert_eq!(token(&app, &by_secret, Some(&good), &[]).await, 401, "a certificate instead of the secret");
    let secret = by_secret["client_secret"].as_str().unwrap();
    assert_eq!(
        token(&app, &by_secret, Some(&good), &[("client_secret", secret)]).await,
        200,
        "beside the secret"
    );
}

#[tokio::test]
async fn without_an_authority_no_subject_proves_anybody() {
    let ours = authority("Ours");
    let app = start(None).await;
    let client =
        service(&app, "tls_client_auth", json!({"tls_client_auth_san_dns": "robot-1.example.test"})).await;
    assert_eq!(token(&app, &client, Some(&ours.sign(&robot())), &[]).await, 401);
}

/// A certificate nobody signed, and the key set that registers it by its key.
fn self_signed() -> (Vec<u8>, Value, Value) {
    let key = KeyPair::generate().unwrap();
    let der = robot().self_signed(&key).unwrap().der().to_vec();
    let point = key.public_key_raw();
    let (x, y) = (URL_SAFE_NO_PAD.encode(&point[1..33]), URL_SAFE_NO_PAD.encode(&point[33..65]));
    let by_key = json!({"kty": "EC", "crv": "P-256", "x": x, "y": y});
    let mut by_certificate = by_key.clone();
    by_certificate["x5c"] = json!([STANDARD.encode(&der)]);
    (der, json!({"jwks": {"keys": [by_key]}}), json!({"jwks": {"keys": [by_certificate]}}))
}

#[tokio::test]
async fn a_certificate_that_the_client_registered_proves_it() {
    let app = start(None).await;
    let (mine, by_key, by_certificate) = self_signed();
    let (other, ..) = self_signed();
    for jwks in [by_key, by_certificate] {
        let client = service(&app, "self_signed_tls_client_auth", jwks).await;
        assert_eq!(token(&app, &client, Some(&mine), &[]).await, 200);
        assert_eq!(token(&app, &client, Some(&other), &[]).await, 401);
        assert_eq!(token(&app, &client, None, &[]).await, 401);
        assert_eq!(token(&app, &client, Some(b"junk"), &[]).await, 401);
        app.clock.advance(porteiro_protocol::time::Duration::days(365 * 3_000));
        assert_eq!(token(&app, &client, Some(&mine), &[]).await, 401, "expired");
        app.catch_up().await;
    }
}

#[tokio::test]
async fn a_proxy_that_is_trusted_hands_the_certificate_on() {
    let ours = authority("Ours");
    let app = start(Some(&ours.pem)).await;
    let client =
        service(&app, "tls_client_auth", json!({"tls_client_auth_san_dns": "robot-1.example.test"})).await;
    let pem =
        ["-----BEGIN CERTIFICATE-----", &STANDARD.encode(ours.sign(&robot())), "-----END CERTIFICATE-----"];
    let header = encode(&[("v", &pem.join("\n"))]).split_off(2);
    let form = encode(&[
        ("grant_type", "client_credentials"),
        ("scope", "invoices:read"),
        ("client_id", client["client_id"].as_str().unwrap()),
    ]);
    for (address, status) in [([10, 0, 0, 1], 200), ([203, 0, 113, 7], 401)] {
        let request = Request::post("/connect/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("x-client-certificate", &header)
            .body(Body::from(form.clone()))
            .unwrap();
        assert_eq!(app.from_address(address).send(request).await.status, status, "{address:?}");
    }
}

#[tokio::test]
async fn what_cannot_be_served_is_neither_announced_nor_registered() {
    let methods = async |app: &TestApp| {
        let document = app.get("/.well-known/oauth-authorization-server").await.json();
        let known = document["token_endpoint_auth_methods_supported"].clone();
        (known.as_array().unwrap().len(), document["mtls_endpoint_aliases"].clone())
    };
    let register = async |app: &TestApp, more: Value| {
        let mut metadata = json!({"redirect_uris": ["https://robot.example/"], "token_endpoint_auth_method": "tls_client_auth"});
        for (name, value) in more.as_object().unwrap() {
            metadata[name] = value.clone();
        }
        app.json("/connect/register", &metadata).await.status.as_u16()
    };
    let good = json!({"tls_client_auth_san_dns": "robot-1.example.test"});
    let none = TestApp::new().await;
    assert_eq!(methods(&none).await, (4, Value::Null));
    assert_eq!(register(&none, good.clone()).await, 400);
    let without_authority = start(None).await;
    assert_eq!(methods(&without_authority).await.0, 5);
    assert_eq!(register(&without_authority, good.clone()).await, 400);
    let with = start(Some(&authority("Ours").pem)).await;
    assert_eq!(methods(&with).await.0, 6);
    assert_eq!(register(&with, good).await, 201);
    for bad in [
        json!({}),
        json!({"tls_client_auth_san_dns": "*.example.test"}),
        json!({"tls_client_auth_san_ip": "robot"}),
        json!({"tls_client_auth_subject_dn": "robot"}),
        json!({"tls_client_auth_san_dns": "a.example", "tls_client_auth_san_ip": "192.0.2.7"}),
    ] {
        assert_eq!(register(&with, bad.clone()).await, 400, "{bad}");
        let metadata =
            json!({"grant_types": ["client_credentials"], "token_endpoint_auth_method": "tls_client_auth"});
        let mut metadata = metadata.as_object().unwrap().clone();
        metadata.extend(bad.as_object().unwrap().clone());
        let made =
            clients::create(&with.app.store, &*with.app.entropy, &metadata.into(), Trust::Verified).await;
        assert!(made.is_err(), "{bad}");
    }
}

#[tokio::test]
async fn the_address_that_asks_for_certificates_is_announced() {
    let app = TestApp::builder()
        .settings(|settings| {
            settings.client_certificate_header = Some("x-client-certificate".into());
            settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
            settings.mtls_base_url = Some("https://mtls.example.test".into());
        })
        .start()
        .await;
    let document = app.get("/.well-known/openid-configuration").await.json();
    assert_eq!(document["token_endpoint"], "https://id.example.test/connect/token");
    let algorithms = &document["token_endpoint_auth_signing_alg_values_supported"];
    assert_eq!(*algorithms, json!(["ES256", "EdDSA", "RS256", "PS256"]));
    let aliases = &document["mtls_endpoint_aliases"];
    assert_eq!(aliases["token_endpoint"], "https://mtls.example.test/connect/token");
    assert!(aliases.get("registration_endpoint").is_none());
}
