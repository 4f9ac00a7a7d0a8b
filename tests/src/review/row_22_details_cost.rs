//! `authorization_details` cost little before a token is used.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use porteiro_service::oauth::{
    apis::{self, Api},
    clients::Trust,
};
use porteiro_testkit::{Browser, TestApp};
use serde_json::{Map, Value, json};

use crate::oauth::{
    LEDGER, app,
    driver::{Relying, parameter, person, verifier},
    ledger,
};

/// An API whose payments are costly to compile: every member has a pattern.
fn with_payments(limit: usize) -> Api {
    let mut api = serde_json::to_value(ledger()).unwrap();
    let members: Map<String, Value> = (0..20)
        .map(|i| {
            (
                format!("m{i}"),
                json!({"type": "string", "maxLength": limit, "pattern": "^[0-9]{1,9}\\.[0-9]{2}$"}),
            )
        })
        .collect();
    api["details"] = json!([{
        "name": "payment",
        "schema": {"type": "object", "properties": members, "additionalProperties": false},
        "display": {"en": "Pay {m0}", "pt": "Pagar {m0}"},
        "narrowing": {"m0": "at_most"},
    }]);
    let api: Api = serde_json::from_value(api).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    api
}

/// A costly one to apply: every value is held against many alternatives.
fn with_alternatives() -> Api {
    let mut api = serde_json::to_value(ledger()).unwrap();
    let any: Vec<Value> = (0..600).map(|number| json!({"multipleOf": 1_000_003 + number})).collect();
    api["details"] = json!([{
        "name": "payment",
        "schema": {"type": "object", "additionalProperties": false,
                   "properties": {"items": {"type": "array", "items": {"not": {"anyOf": any}}}}},
        "display": {"en": "Pay {items}", "pt": "Pagar {items}"},
    }]);
    let api: Api = serde_json::from_value(api).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    api
}

async fn paying(app: &TestApp) -> Relying {
    let types = json!({"token_endpoint_auth_method": "none", "authorization_details_types": ["payment"]});
    Relying::with(app, Trust::Verified, types).await
}

async fn tokens(app: &Arc<TestApp>, client: &Relying, browser: &mut Browser, details: &Value) -> Value {
    let details = details.to_string();
    let more =
        [("scope", "invoices:read"), ("resource", LEDGER), ("authorization_details", details.as_str())];
    client.tokens(browser, app, &more).await
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_else(|| panic!("no {name} in {value}"))
}

#[tokio::test]
async fn hundreds_of_details_cost_no_more_than_any_other_refusal() {
    let app = app().await;
    apis::register(&app.app.store, &with_payments(9)).await.unwrap();
    let (mut browser, client) = (person(&app).await, paying(&app).await);
    let tokens = tokens(&app, &client, &mut browser, &json!([{"type": "payment", "m0": "10.00"}])).await;
    let many = json!(vec![json!({"type": "payment"}); 800]).to_string();
    // The quickest of each, in turn: other tests share these cores, and only cause a slow one, never a quick one.
    let [mut plain, mut costly] = [Duration::MAX; 2];
    for _ in 0..4 {
        let started = Instant::now();
        let refused = client.refresh(&app, text(&tokens, "refresh_token"), &[("scope", "no:such")]).await;
        plain = plain.min(started.elapsed());
        assert_eq!(refused.json()["error"], "invalid_scope");
        let started = Instant::now();
        let more = [("authorization_details", many.as_str())];
        let refused = client.refresh(&app, text(&tokens, "refresh_token"), &more).await;
        costly = costly.min(started.elapsed());
        assert_eq!(refused.json()["error"], "invalid_authorization_details");
    }
    // Compiling the schema for each of them took 650 ms and more.
    let allowed = plain * 5 + Duration::from_millis(100);
    assert!(costly < allowed, "{costly:?} where another refusal takes {plain:?}");
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &[]).await.status, 200);
}

#[tokio::test]
async fn a_schema_is_compiled_once_for_each_version_of_a_type() {
    let app = app().await;
    apis::register(&app.app.store, &with_payments(9)).await.unwrap();
    let (mut browser, client) = (person(&app).await, paying(&app).await);
    let granted = json!([{"type": "payment", "m0": "10.00"}, {"type": "payment", "m0": "20.00"}]);
    let mut last = tokens(&app, &client, &mut browser, &granted).await;
    let less = json!([{"type": "payment", "m0": "5.00"}]).to_string();
    for _ in 0..3 {
        let more = [("authorization_details", less.as_str())];
        last = client.refresh(&app, text(&last, "refresh_token"), &more).await.json();
        assert_eq!(last["authorization_details"][0]["m0"], "5.00", "{last}");
    }
    assert_eq!(app.app.details.compiled(), 1);
    apis::register(&app.app.store, &with_payments(8)).await.unwrap();
    tokens(&app, &client, &mut browser, &granted).await;
    assert_eq!(app.app.details.compiled(), 2);
}

#[tokio::test]
async fn a_client_has_the_types_it_registered_and_no_others_wherever_it_asks() {
    let app = app().await;
    apis::register(&app.app.store, &with_payments(9)).await.unwrap();
    let (mut browser, client) = (person(&app).await, paying(&app).await);
    let granted = json!([{"type": "payment", "m0": "10.00"}]);
    let tokens = tokens(&app, &client, &mut browser, &granted).await;
    let details = granted.to_string();
    let set = |types: &str| {
        format!(
            "UPDATE client SET metadata = jsonb_set(metadata, '{{authorization_details_types}}', '{types}'),
                 changed_at = clock_timestamp()"
        )
    };
    app.sql(&set(r#"["loan"]"#)).await;
    app.app.directory.forget(&client.id);
    let more = [("authorization_details", details.as_str())];
    let refused = client.refresh(&app, text(&tokens, "refresh_token"), &more).await.json();
    assert_eq!(refused["error"], "invalid_authorization_details");
    assert!(text(&refused, "error_description").contains("did not register"), "{refused}");
    // It was asked before the token was used.
    app.sql(&set(r#"["payment"]"#)).await;
    app.app.directory.forget(&client.id);
    assert_eq!(client.refresh(&app, text(&tokens, "refresh_token"), &more).await.status, 200);
    // Whoever registered none has none.
    let none = Relying::public(&app, Trust::Verified).await;
    let more = [("resource", LEDGER), ("authorization_details", details.as_str())];
    let refused = none.ask(&mut browser, &verifier(), &more).await.json();
    assert_eq!(parameter(&refused, "error").as_deref(), Some("invalid_authorization_details"), "{refused}");
}

/// One thread answers everybody here: what holds it up is seen by all.
#[tokio::test]
async fn others_are_answered_while_costly_details_are_looked_at() {
    let app = app().await;
    apis::register(&app.app.store, &with_alternatives()).await.unwrap();
    let (mut browser, client) = (person(&app).await, paying(&app).await);
    let granted = json!([{"type": "payment", "items": vec![1; 900]}]);
    let tokens = tokens(&app, &client, &mut browser, &granted).await;
    let details = granted.to_string();
    let more =
        [("scope", "invoices:read"), ("resource", LEDGER), ("authorization_details", details.as_str())];
    let refresh = [("authorization_details", details.as_str())];
    let (took, gap) = watched(&app, client.refresh(&app, text(&tokens, "refresh_token"), &refresh)).await;
    assert!(gap < took / 2, "refreshing: nobody was answered for {gap:?} of {took:?}");
    let (took, gap) = watched(&app, app.form("/connect/par", client.query(&verifier(), &more))).await;
    assert!(gap < took / 2, "pushing: nobody was answered for {gap:?} of {took:?}");
}

/// How long it took, and the longest time in which nobody else was answered.
async fn watched(
    app: &TestApp,
    work: impl Future<Output = porteiro_testkit::Answer>,
) -> (Duration, Duration) {
    let (started, mut gap, mut last) = (Instant::now(), Duration::ZERO, Instant::now());
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            answer = &mut work => {
                assert!(answer.status.is_success(), "{}", answer.text());
                return (started.elapsed(), gap.max(last.elapsed()));
            }
            healthy = answered(app) => {
                assert_eq!(healthy.status, 200);
                gap = gap.max(last.elapsed());
                last = Instant::now();
            }
        }
    }
}

async fn answered(app: &TestApp) -> porteiro_testkit::Answer {
    tokio::time::sleep(Duration::from_millis(1)).await;
    app.get("/healthz").await
}
