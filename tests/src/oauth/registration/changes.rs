//! What becomes of a registration: read, replaced, removed by whoever holds its token, and by nobody else.

use http::Method;
use porteiro_service::oauth::clients::{self, Trust};
use porteiro_testkit::TestApp;
use serde_json::{Value, json};

use super::{
    super::{app, create, encode, ledger},
    error, has_null, manage, registered, text, website,
};

/// What is sent to replace a registration.
fn update(body: &Value, more: &Value) -> Value {
    let mut whole = json!({"client_id": body["client_id"]});
    for (name, value) in more.as_object().into_iter().flatten() {
        whole[name] = value.clone();
    }
    website(&whole)
}

fn held(body: &Value) -> (&str, &str) {
    (text(body, "client_id"), text(body, "registration_access_token"))
}

#[tokio::test]
async fn a_wrong_token_an_unknown_client_and_an_ended_one_are_the_same() {
    let app = app().await;
    let (one, other) = (registered(&app, &json!({})).await, registered(&app, &json!({})).await);
    let ended = registered(&app, &json!({})).await;
    let by_hand = create(&app, Trust::Verified, &website(&json!({}))).await;
    let (id, token) = held(&ended);
    let gone = manage(&app, Method::DELETE, id, token, None).await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
    let secret = text(&one, "client_secret");
    let body = update(&one, &json!({}));
    let mut seen = Vec::new();
    for (id, token) in [
        (text(&one, "client_id"), held(&other).1),
        (text(&one, "client_id"), "pt_reg_junk"),
        (text(&one, "client_id"), secret),
        (text(&one, "client_id"), ""),
        ("nobody", held(&one).1),
        (text(&by_hand, "client_id"), held(&one).1),
        held(&ended),
    ] {
        for method in [Method::GET, Method::PUT, Method::DELETE] {
            let answer = manage(&app, method, id, token, Some(&body)).await;
            assert_eq!(error(&answer), (401, "invalid_token".into()));
            assert_eq!(answer.header("www-authenticate"), "Bearer error=\"invalid_token\"");
            seen.push(answer.text());
        }
    }
    seen.dedup();
    assert_eq!(seen.len(), 1, "{seen:?}");
    let unreadable =
        manage(&app, Method::PUT, text(&one, "client_id"), "pt_reg_junk", Some(&json!("x"))).await;
    assert_eq!(unreadable.status, 401, "who has no token learns nothing about the body");
    assert_eq!(manage(&app, Method::GET, held(&one).0, held(&one).1, None).await.status, 200);
}

#[tokio::test]
async fn a_replacement_replaces_everything_and_its_token_is_new() {
    let app = app().await;
    let body = registered(&app, &json!({"contacts": ["a@printer.example"], "scope": "openid"})).await;
    let (id, token) = held(&body);
    let more = json!({"client_name": "Photo Printer 2", "redirect_uris": ["https://printer.example/two"],
                      "client_secret": body["client_secret"]});
    let answer = manage(&app, Method::PUT, id, token, Some(&update(&body, &more))).await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (200, "no-store"));
    let new = answer.json();
    assert!(!has_null(&new));
    assert_eq!((&new["client_name"], &new["client_id"]), (&more["client_name"], &body["client_id"]));
    assert!(new.get("contacts").is_none() && new.get("scope").is_none(), "what is not repeated is gone");
    assert!(new.get("client_secret").is_none() && new["client_secret_expires_at"] == 0);
    assert_eq!(new["client_id_issued_at"], body["client_id_issued_at"]);
    assert_ne!(new["registration_access_token"], body["registration_access_token"]);
    assert_eq!(manage(&app, Method::GET, id, token, None).await.status, 401, "the old token");
    assert_eq!(manage(&app, Method::GET, id, held(&new).1, None).await.json(), new);
    let log = app.database.client().await;
    let row =
        log.query_one("SELECT payload FROM security_log WHERE kind = 'client.changed'", &[]).await.unwrap();
    let payload: Value = row.get(0);
    assert_eq!(payload["members"], json!(["redirect_uris", "scope", "client_name"]));
}

#[tokio::test]
async fn a_replacement_must_be_for_this_client_and_say_only_what_a_client_says() {
    let app = app().await;
    let (body, other) = (registered(&app, &json!({})).await, registered(&app, &json!({})).await);
    let (id, token) = held(&body);
    for (what, more) in [
        ("another client", json!({"client_id": other["client_id"]})),
        ("no client", json!({"client_id": null})),
        ("another's secret", json!({"client_secret": other["client_secret"]})),
        ("a secret of its own", json!({"client_secret": "pt_cs_mine"})),
        ("its token", json!({"registration_access_token": token})),
        ("its address", json!({"registration_client_uri": body["registration_client_uri"]})),
        ("its age", json!({"client_id_issued_at": 1})),
        ("its secret's age", json!({"client_secret_expires_at": 0})),
    ] {
        let answer = manage(&app, Method::PUT, id, token, Some(&update(&body, &more))).await;
        assert_eq!(error(&answer), (400, "invalid_client_metadata".into()), "{what}");
    }
    assert_eq!(manage(&app, Method::GET, id, token, None).await.status, 200, "a refusal changes nothing");
}

/// Keycloak CVE-2026-15572, CVE-2026-16102: an update through the registration endpoint gave a client what it could not
/// have registered with.
#[tokio::test]
async fn cve_2026_15572_a_replacement_never_widens_what_a_stranger_may_have() {
    let app = app().await;
    let body = registered(&app, &json!({"scope": "openid"})).await;
    let (id, token) = held(&body);
    // Even when somebody had trusted it meanwhile.
    for trust in [Trust::Unverified, Trust::Verified, Trust::FirstParty] {
        clients::set_trust(&app.app.store, id, trust).await.unwrap();
        for more in [
            json!({"scope": "openid invoices:write"}),
            json!({"scope": "no:such"}),
            json!({"grant_types": ["authorization_code", "client_credentials"]}),
            json!({"grant_types": ["client_credentials"], "redirect_uris": null}),
            json!({"authorization_details_types": ["payment"]}),
            json!({"redirect_uris": ["javascript:alert(1)"]}),
            json!({"client_name": "Porteiro"}),
        ] {
            let answer = manage(&app, Method::PUT, id, token, Some(&update(&body, &more))).await;
            assert_eq!(answer.status, 400, "{more}");
        }
        assert_eq!(clients::find(&app.app.store, id).await.unwrap().unwrap().trust, trust);
    }
    // Members that only the server says are ignored, and the trust somebody gave is gone with the first change.
    let more = json!({"scope": "openid invoices:read", "trust": "first_party", "profile": "fapi2", "disabled_at": null});
    let answer = manage(&app, Method::PUT, id, token, Some(&update(&body, &more))).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let client = clients::find(&app.app.store, id).await.unwrap().unwrap();
    assert_eq!((client.trust, client.profile), (Trust::Unverified, clients::Profile::Default));
    assert!(!client.may_use_grant("client_credentials"));
}

/// A client that registered itself proves itself at the token endpoint; what it may do there is another matter.
async fn authenticates(app: &TestApp, body: &Value) -> bool {
    let form = encode(&[
        ("grant_type", "client_credentials"),
        ("client_id", text(body, "client_id")),
        ("client_secret", text(body, "client_secret")),
    ]);
    app.form("/connect/token", form).await.json()["error"] == "unauthorized_client"
}

#[tokio::test]
async fn the_secret_works_and_gives_no_authority() {
    let app = app().await;
    let body = registered(&app, &json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    assert!(authenticates(&app, &body).await);
}

#[tokio::test]
async fn the_secret_follows_the_method() {
    let app = app().await;
    let body = registered(&app, &json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    let (id, token) = held(&body);
    assert!(authenticates(&app, &body).await);
    let public = update(&body, &json!({"token_endpoint_auth_method": "none"}));
    let public = manage(&app, Method::PUT, id, token, Some(&public)).await.json();
    assert!(public.get("client_secret_expires_at").is_none());
    assert!(!authenticates(&app, &body).await, "the secret of a client that has none any more");
    let again = update(&body, &json!({"token_endpoint_auth_method": "client_secret_post"}));
    let again = manage(&app, Method::PUT, id, held(&public).1, Some(&again)).await.json();
    assert_ne!(again["client_secret"], body["client_secret"]);
    assert!(authenticates(&app, &again).await && !authenticates(&app, &body).await);
}

#[tokio::test]
async fn an_ended_client_is_nobody_at_once() {
    let app = app().await;
    let body = registered(&app, &json!({"token_endpoint_auth_method": "client_secret_post"})).await;
    assert!(authenticates(&app, &body).await);
    assert_eq!(manage(&app, Method::DELETE, held(&body).0, held(&body).1, None).await.status, 204);
    assert!(!authenticates(&app, &body).await);
    let log = app.database.client().await;
    let rows = log.query("SELECT 1 FROM security_log WHERE kind = 'client.removed'", &[]).await.unwrap();
    assert_eq!(rows.len(), 1);
}

#[tokio::test]
async fn of_many_replacements_with_one_token_one_succeeds() {
    let nodes = TestApp::builder().start_nodes(2).await;
    porteiro_service::oauth::apis::register(&nodes[0].app.store, &ledger()).await.unwrap();
    let body = registered(&nodes[0], &json!({})).await;
    let mut racing = tokio::task::JoinSet::new();
    for number in 0..16 {
        let (node, body) = (nodes[number % 2].clone(), body.clone());
        racing.spawn(async move {
            let more = json!({"client_name": format!("Printer {number}")});
            let answer =
                manage(&node, Method::PUT, held(&body).0, held(&body).1, Some(&update(&body, &more))).await;
            (answer.status.as_u16(), answer.json())
        });
    }
    let answers = racing.join_all().await;
    let winners: Vec<&Value> =
        answers.iter().filter(|(status, _)| *status == 200).map(|(_, body)| body).collect();
    assert_eq!(winners.len(), 1);
    assert!(answers.iter().all(|(status, _)| matches!(status, 200 | 401)));
    let now = manage(&nodes[1], Method::GET, held(&body).0, held(winners[0]).1, None).await;
    assert_eq!(now.json()["client_name"], winners[0]["client_name"]);
}

#[tokio::test]
async fn tokens_cannot_be_tried_for_ever() {
    let app = app().await;
    let mut last = 0;
    for _ in 0..61 {
        last = manage(&app, Method::GET, "nobody", "pt_reg_junk", None).await.status.as_u16();
    }
    assert_eq!(last, 429);
}
