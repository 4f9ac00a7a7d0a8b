//! What ought to be over, and what is taken for something it is not.

use porteiro_service::oauth::{apis, clients::Trust};
use porteiro_testkit::{Browser, Flow, nothing};
use serde_json::{Value, json};

use super::super::{
    LEDGER, app, app_with,
    driver::{CALLBACK, Relying, agree, challenge, get_json, parameter, person, verifier},
    encode, ledger,
    signing::ClientKey,
};
use crate::people::{self, PASSWORD};

use super::{object, stranger, text};

/// Withdrawing races with signing in: a step that itself proves who it is takes no lock on the account
/// (`once` locks only an account known before), so what it read of consents and writes as a grant passes a
/// withdrawal that is over and answered.
#[tokio::test]
async fn what_was_withdrawn_does_not_come_back_by_a_sign_in_under_way() {
    let app = app().await;
    let (mut browser, mut keys) = people::register_with_passkey(&app, "ana@example.test").await;
    let client = Relying::web(&app).await;
    client.tokens(&mut browser, &app, &[]).await;
    let mut other = Browser::new(&app);
    let verifier = verifier();
    let mut flow = Flow::new(client.ask(&mut other, &verifier, &[]).await.json());
    let response = keys.authenticate(&flow.now["challenge"]["public_key"]);
    // Holds the other transaction between its decision and its grant.
    let wall = app.database.client().await;
    wall.batch_execute("BEGIN; LOCK TABLE code_challenge_seen IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let walking = tokio::spawn(async move {
        let answer = flow.attempt(&mut other, "passkey/finish", json!({"credential": response})).await;
        (answer.status.as_u16(), flow.now)
    });
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let path = format!("/v1/account/grants/{}", client.id);
    let withdrawn = tokio::time::timeout(std::time::Duration::from_secs(2), browser.delete(&path))
        .await
        .map(|it| it.status);
    wall.batch_execute("COMMIT").await.unwrap();
    let (status, now) = walking.await.unwrap();
    assert_eq!(status, 200, "{now}");
    let refreshed = match parameter(&now, "code") {
        Some(code) => client.redeem(&app, &code, &verifier).await.status.as_u16(),
        None => 400,
    };
    assert!(
        !(withdrawn.is_ok_and(|status| status == 204) && refreshed == 200),
        "withdrawn, answered, and granted all the same"
    );
}

/// The same for a session that ends because its browser signs in as somebody else: its account is not locked, so a
/// silent authorization under way leaves a grant that hangs on an ended session and lives on.
#[tokio::test]
async fn a_session_that_ended_leaves_no_grant_of_a_request_under_way() {
    if people::single_connection() {
        // Two requests at once are the point.
        return;
    }
    let app = app_with(4).await;
    let mut browser = person(&app).await;
    people::register_with_password(&app, "bea@example.test").await;
    let client = Relying::web(&app).await;
    client.tokens(&mut browser, &app, &[]).await;
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": "bea@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    let mut tab = Browser::new(&app);
    tab.cookies = browser.cookies.clone();
    let wall = app.database.client().await;
    wall.batch_execute("BEGIN; LOCK TABLE code_challenge_seen IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let (one, verifier) = (client.clone(), verifier());
    let path = one.path(&verifier, &[]);
    let walking = tokio::spawn(async move { get_json(&mut tab, &path).await.json() });
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    wall.batch_execute("COMMIT").await.unwrap();
    let done = walking.await.unwrap();
    let redeemed = match parameter(&done, "code") {
        Some(code) => client.redeem(&app, &code, &verifier).await.status.as_u16(),
        None => 400,
    };
    let orphans = "SELECT count(*) FROM oauth_grant g JOIN session s USING (session_id)
                   WHERE s.ended_at IS NOT NULL AND g.revoked_at IS NULL AND NOT g.offline";
    assert_eq!((app.count(orphans).await, redeemed), (0, 400));
}

/// `acr_values` asks for AAL2; an essential `acr` without values beside it clears the list, and nothing is asked
/// (docs/decisions/0026: refused, never reduced).
#[tokio::test]
async fn an_essential_acr_without_values_does_not_lower_the_level() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let claims = r#"{"id_token":{"acr":{"essential":true}}}"#;
    let more = [("acr_values", "aal2"), ("claims", claims)];
    let asked = client.ask(&mut browser, &verifier(), &more).await.json();
    assert_ne!(asked["stage"], "consent", "a mailbox was enough for aal2: {}", asked["assurance"]);
}

/// `prompt=login` is met by one new proof of any kind, as long as older ones of ten minutes fill the rest up: the
/// password is not asked again, and `auth_time` lies before the request.
#[tokio::test]
async fn prompt_login_asks_for_everything_again() {
    let app = app().await;
    let mut browser = person(&app).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let totp = people::enrol_totp(&mut browser).await;
    app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 300)))
             FROM jsonb_array_elements(proofs) p)")
        .await;
    let client = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let verifier = verifier();
    let mut flow = Flow::new(
        client.ask(&mut browser, &verifier, &[("prompt", "login"), ("max_age", "60")]).await.json(),
    );
    assert_eq!(flow.stage(), "raise", "{}", flow.now);
    flow.act(&mut browser, "totp/check", json!({"code": totp.code(people::step_now(1))})).await;
    assert_ne!(flow.stage(), "complete", "proved {}", flow.now["assurance"]);
}

/// An idle session is worth less for exactly one request: looking at it marks it as used, so asking again brings
/// AAL2 back without any proof (docs/decisions/0016: AAL2 for 24 hours, one hour idle, then AAL1).
#[tokio::test]
async fn an_idle_session_stays_worth_less_until_something_is_proved() {
    let app = app().await;
    let (_, mut keys) = people::register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let response = keys.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    let client = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let more = [("acr_values", "aal2"), ("prompt", "none")];
    let fresh = client.ask(&mut browser, &verifier(), &more).await.json();
    assert!(parameter(&fresh, "code").is_some(), "{fresh}");
    app.sql("UPDATE session SET seen_at = now() - interval '3 hours'").await;
    let first = client.ask(&mut browser, &verifier(), &more).await.json();
    assert_eq!(parameter(&first, "error").as_deref(), Some("login_required"), "{first}");
    let second = client.ask(&mut browser, &verifier(), &more).await.json();
    assert_eq!(
        parameter(&second, "error").as_deref(),
        Some("login_required"),
        "AAL2 again by asking twice: {second}"
    );
}

/// A stranger registers somebody else's address beside its own. The person is shown the good host and says yes; the
/// yes is remembered for the client, and the next request, to the stranger's host, is answered without a screen.
#[tokio::test]
async fn a_yes_to_one_host_is_no_yes_to_another() {
    let app = app().await;
    let mut browser = person(&app).await;
    let evil = "https://evil.example.test/take";
    let (client, _) = stranger(
        &app,
        json!({"redirect_uris": ["https://app.example.test/callback", evil], "token_endpoint_auth_method": "none"}),
    )
    .await;
    let asked = client.ask(&mut browser, &verifier(), &[("scope", "openid email")]).await.json();
    assert_eq!(asked["request"]["redirect_host"], "app.example.test");
    agree(&mut browser, asked).await;
    let more = [("redirect_uri", evil), ("prompt", "none"), ("scope", "openid email")];
    let silent = client.ask(&mut browser, &verifier(), &more).await.json();
    assert!(parameter(&silent, "code").is_none(), "{}", silent["continue"]);
}

/// What checking details costs: schemas are compiled for every detail at every look, before any limit, for
/// anybody (public clients may put details into the address).
#[tokio::test]
async fn details_are_cheap_to_refuse() {
    let app = app().await;
    let mut api = serde_json::to_value(ledger()).unwrap();
    let members: serde_json::Map<String, Value> = (0..20)
        .map(|i| (format!("m{i}"), json!({"type": "string", "pattern": "^[0-9]{1,9}\\.[0-9]{2}$"})))
        .collect();
    api["details"] = json!([{
        "name": "payment",
        "schema": {"type": "object", "properties": members, "additionalProperties": false},
        "display": {"en": "Pay {m0}", "pt": "Pagar {m0}"},
    }]);
    apis::register(&app.app.store, &serde_json::from_value(api).unwrap()).await.unwrap();
    let types = json!({"token_endpoint_auth_method": "none", "authorization_details_types": ["payment"]});
    let client = Relying::with(&app, Trust::Verified, types).await;
    let mut details = vec![json!({"type": "payment"}); 31];
    details.push(json!({"type": "payment", "x": 1}));
    let details = json!(details).to_string();
    let more =
        [("scope", "invoices:read"), ("resource", LEDGER), ("authorization_details", details.as_str())];
    let mut browser = Browser::new(&app);
    // The quickest of each, in turn: other tests share these cores, and only cause a slow one, never a quick one.
    let [mut plain, mut costly] = [std::time::Duration::MAX; 2];
    for _ in 0..12 {
        let started = std::time::Instant::now();
        client.ask(&mut browser, &verifier(), &[("scope", "no:such")]).await;
        plain = plain.min(started.elapsed());
        let started = std::time::Instant::now();
        let answer = client.ask(&mut browser, &verifier(), &more).await;
        costly = costly.min(started.elapsed());
        assert!(answer.text().contains("invalid_authorization_details"), "{}", answer.text());
    }
    let allowed = plain * 5 + std::time::Duration::from_millis(100);
    assert!(costly < allowed, "{costly:?} where another refusal takes {plain:?}");
}

/// `amr` says `mfa` ("AAL2 and nothing else", assurance.rs) long after the level has decayed: it is made of every
/// proof the session ever had, beside an `acr` that says AAL1.
#[tokio::test]
async fn amr_says_no_more_than_acr() {
    let app = app().await;
    let (_, mut keys) = people::register_with_passkey(&app, "ana@example.test").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let response = keys.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 259200)))
             FROM jsonb_array_elements(proofs) p)")
        .await;
    let client = Relying::with(&app, Trust::FirstParty, json!({})).await;
    let tokens = client.tokens(&mut browser, &app, &[]).await;
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = porteiro_testkit::verify(text(&tokens, "id_token"), &jwks).unwrap();
    assert!(text(&claims, "acr").ends_with("aal/1"), "{claims}");
    assert!(!claims["amr"].to_string().contains("mfa"), "{claims}");
}

/// Kinds of tokens: a request object travels through browsers; typed `oauth-authz-req+jwt`, it is taken for a client
/// assertion where its claims happen to fit (RFC 9101 §10.8); and a JARM answer, typed `JWT`, for an ID token.
#[tokio::test]
async fn a_request_object_is_no_client_assertion() {
    let app = app().await;
    let key = ClientKey::new();
    let metadata = json!({"token_endpoint_auth_method": "private_key_jwt", "jwks": key.jwks()});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let mut claims = object(&app, &client, &verifier());
    claims["sub"] = json!(client.id);
    claims["jti"] = json!("seen-in-a-browser");
    let stolen = key.request_object(&claims);
    let form = [
        ("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"),
        ("client_assertion", stolen.as_str()),
        ("token", "x"),
    ];
    let answer = app.form("/connect/introspect", encode(&form)).await;
    assert_eq!(answer.status, 401, "{}", answer.text());
}

#[tokio::test]
async fn a_signed_answer_is_no_id_token() {
    let app = app().await;
    let after = "https://app.example.test/bye";
    let metadata =
        json!({"authorization_signed_response_alg": "ES256", "post_logout_redirect_uris": [after]});
    let client = Relying::with(&app, Trust::Verified, metadata).await;
    let mut nobody = Browser::new(&app);
    let more = [("prompt", "none"), ("response_mode", "query.jwt")];
    let refused = client.ask(&mut nobody, &verifier(), &more).await.json();
    let answer = parameter(&refused, "response").unwrap_or_else(|| panic!("{refused}"));
    let pairs = [("id_token_hint", answer.as_str()), ("post_logout_redirect_uri", after)];
    let left = nobody.get(&format!("/connect/logout?{}", encode(&pairs))).await;
    assert_eq!(left.status, 400, "sent to {}", left.header("location"));
}

/// Nothing limits pushing: any public client id writes rows of some kilobytes as fast as it can.
#[tokio::test]
async fn pushing_is_limited() {
    let app = app().await;
    let client = Relying::public(&app, Trust::Unverified).await;
    let (hash, big) = (challenge(&verifier()), "x".repeat(4_000));
    let form = [
        ("redirect_uri", CALLBACK),
        ("response_type", "code"),
        ("scope", "openid"),
        ("code_challenge", hash.as_str()),
        ("code_challenge_method", "S256"),
        ("state", big.as_str()),
    ];
    let mut limited = false;
    for _ in 0..700 {
        let answer = client.call(&app, "/connect/par", &form).await;
        assert!(answer.status == 201 || answer.status == 429, "{}", answer.text());
        limited |= answer.status == 429;
    }
    let rows = app.count("SELECT count(*) FROM pushed_request").await;
    assert!(limited, "{rows} rows of 4 kB from one address");
}
