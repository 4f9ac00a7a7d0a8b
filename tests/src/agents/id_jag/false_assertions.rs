//! Assertions that count for nothing.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use porteiro_protocol::{jose::Algorithm, time::Clock};
use serde_json::{Value, json};

use super::resource::{HERE, Issuer, Resource, redeem, redeemer};
use crate::oauth::signing::ClientKey;

/// Refused, with the code of the draft; afterwards a good one still counts.
async fn refused(resource: &Resource, assertion: &str, what: &str) {
    let answer = resource.redeem(assertion, &[]).await;
    let told = (answer.status.as_u16(), answer.json()["error"].clone());
    assert_eq!(told, (400, json!("invalid_grant")), "{what}: {}", answer.text());
}

#[tokio::test]
async fn each_claim_that_is_wrong_is_refused() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let other = redeemer(&resource.app, json!({})).await;
    let now = resource.app.clock.now().unix_timestamp();
    for more in [
        json!({"aud": "https://elsewhere.example"}),
        json!({"aud": format!("{HERE}/")}),
        json!({"aud": format!("{HERE}/connect/token")}),
        json!({"aud": [HERE, "https://elsewhere.example"]}),
        json!({"aud": []}),
        json!({"aud": null}),
        json!({"client_id": other.id}),
        json!({"client_id": null}),
        json!({"iss": "https://elsewhere.example"}),
        json!({"iss": HERE}),
        json!({"iss": null}),
        json!({"exp": now - 1}),
        json!({"exp": now + 3_600}),
        json!({"exp": null}),
        json!({"iat": now + 60}),
        json!({"iat": null}),
        json!({"nbf": now + 60}),
        json!({"jti": null}),
        json!({"sub": null}),
        json!({"tenant": "another"}),
        json!({"aud_tenant": "another"}),
        json!({"act": {"sub": "somebody"}}),
        json!({"authorization_details": [{"type": "x"}]}),
        json!({"cnf": {"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}}),
    ] {
        refused(&resource, &issuer.assertion(&resource, &more), &more.to_string()).await;
    }
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({"aud": [HERE]})), &[]).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn only_a_signature_of_the_issuer_by_a_pinned_algorithm_counts() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    let claims = issuer.claims(&resource, &json!({}));
    let typ = "oauth-id-jag+jwt";
    for wrong in ["JWT", "at+jwt", "jwt-bearer", ""] {
        refused(&resource, &issuer.key.typed(wrong, &claims), wrong).await;
    }
    let untyped = json!({"alg": "ES256", "kid": issuer.key.jwk()["kid"]});
    refused(&resource, &issuer.key.sign(&untyped, &claims), "without a type").await;
    refused(&resource, &ClientKey::new().typed(typ, &claims), "another key").await;
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let body = |header: &Value| format!("{}.{}", part(header), part(&claims));
    let none = body(&json!({"alg": "none", "typ": typ}));
    refused(&resource, &format!("{none}."), "none").await;
    let kid = issuer.key.jwk()["kid"].clone();
    let shared = body(&json!({"alg": "HS256", "typ": typ, "kid": kid}));
    for secret in [issuer.key.jwk().to_string(), issuer.key.jwk()["x"].as_str().unwrap().to_owned()] {
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, secret.as_bytes());
        let tag = aws_lc_rs::hmac::sign(&key, shared.as_bytes());
        let token = format!("{shared}.{}", URL_SAFE_NO_PAD.encode(tag));
        refused(&resource, &token, "HS256 with the public key").await;
    }
    let good = issuer.key.typed(typ, &claims);
    let (signed, _) = good.rsplit_once('.').unwrap();
    refused(&resource, &format!("{signed}.{}", URL_SAFE_NO_PAD.encode([7; 64])), "a made-up signature").await;
    refused(&resource, "junk", "junk").await;
    assert_eq!(resource.redeem(&good, &[]).await.status, 200);
}

/// The issuer publishes the key; the organization did not pin its algorithm.
#[tokio::test]
async fn an_algorithm_that_was_not_pinned_does_not_count() {
    let mut issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    issuer.key = ClientKey::of(Algorithm::EdDsa);
    issuer.publish(&json!({}));
    refused(&resource, &issuer.assertion(&resource, &json!({})), "EdDSA").await;
}

/// Metadata must name the issuer that was asked.
#[tokio::test]
async fn keys_of_another_issuer_are_not_believed() {
    let issuer = Issuer::start().await;
    let resource = issuer.resource().await;
    issuer.publish(&json!({"issuer": "https://elsewhere.example"}));
    let answer = resource.redeem(&issuer.assertion(&resource, &json!({})), &[]).await;
    assert_eq!(answer.json()["error"], "temporarily_unavailable", "{}", answer.text());
}

/// An issuer that nobody trusts, or not for this client, makes us fetch nothing.
#[tokio::test]
async fn nothing_is_fetched_for_an_issuer_that_is_not_trusted() {
    let issuer = Issuer::start().await;
    let resource = Resource::new(&issuer.site).await;
    refused(&resource, &issuer.assertion(&resource, &json!({})), "trusted by nobody").await;
    let other = redeemer(&resource.app, json!({})).await;
    resource.trust(&issuer.name(), &json!({"client_id": other.id})).await;
    refused(&resource, &issuer.assertion(&resource, &json!({})), "trusted for another client").await;
    assert_eq!(issuer.site.heard(), Vec::<String>::new());
    resource.link(&issuer.name(), "U019", &json!({})).await;
    let answer =
        redeem(&resource.app, &other, &issuer.assertion(&resource, &json!({"client_id": other.id})), &[])
            .await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(issuer.site.heard().len(), 2, "metadata and keys, once");
    let answer =
        redeem(&resource.app, &other, &issuer.assertion(&resource, &json!({"client_id": other.id})), &[])
            .await;
    assert_eq!((answer.status.as_u16(), issuer.site.heard().len()), (200, 2), "remembered");
}
