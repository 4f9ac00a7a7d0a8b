//! Rich authorization requests (RFC 9396): typed, checked, shown in words, and only ever narrowed.

use porteiro_service::oauth::{
    apis::{self, Api},
    clients::Trust,
};
use porteiro_testkit::{TestApp, verify};
use serde_json::{Value, json};

use super::{
    LEDGER, app,
    driver::{Relying, agree, parameter, person, verifier},
    ledger,
};

fn with_payments() -> Api {
    let mut api = serde_json::to_value(ledger()).unwrap();
    api["details"] = json!([{
        "name": "payment",
        "schema": {
            "type": "object",
            "properties": {
                "amount": {"type": "string", "pattern": "^[0-9]{1,9}\\.[0-9]{2}$"},
                "to": {"type": "string", "maxLength": 40},
                "actions": {"type": "array", "items": {"enum": ["initiate", "status"]}, "minItems": 1}
            },
            "required": ["amount", "to"],
            "additionalProperties": false
        },
        "display": {"en": "Pay {amount} to {to}", "pt": "Pagar {amount} para {to}"},
        "narrowing": {"amount": "at_most", "actions": "subset"}
    }]);
    let api: Api = serde_json::from_value(api).unwrap();
    api.check(porteiro_testkit::ORIGIN).unwrap();
    api
}

async fn ready() -> (std::sync::Arc<TestApp>, porteiro_testkit::Browser, Relying) {
    let app = app().await;
    apis::register(&app.app.store, &with_payments()).await.unwrap();
    let browser = person(&app).await;
    let types =
        json!({"token_endpoint_auth_method": "none", "authorization_details_types": ["payment", "loan"]});
    let client = Relying::with(&app, Trust::Verified, types).await;
    (app, browser, client)
}

fn payment(amount: &str) -> Value {
    json!([{"type": "payment", "amount": amount, "to": "Bea", "actions": ["initiate", "status"]}])
}

#[tokio::test]
async fn a_person_reads_what_is_asked_in_words_and_the_token_says_it() {
    let (app, mut browser, client) = ready().await;
    let (verifier, details) = (verifier(), payment("10.00").to_string());
    let more = [("scope", "openid invoices:read"), ("resource", LEDGER), ("authorization_details", &details)];
    let asked =
        client.ask(&mut browser, &verifier, &[&more[..], &[("ui_locales", "pt-BR")]].concat()).await.json();
    assert_eq!(
        asked["request"]["details"][0]["text"], "Pagar \u{2068}10.00\u{2069} para \u{2068}Bea\u{2069}",
        "{asked}"
    );
    let done = agree(&mut browser, asked).await;
    let tokens = client.redeem(&app, &parameter(&done, "code").unwrap(), &verifier).await.json();
    assert_eq!(tokens["authorization_details"], payment("10.00"));
    let jwks = app.get("/.well-known/jwks.json").await.json();
    let claims = verify(tokens["access_token"].as_str().unwrap(), &jwks).unwrap();
    assert_eq!(claims["authorization_details"], payment("10.00"));
    // And so it stands in their account, until they take it back.
    let held = browser.get("/v1/account/grants").await.json();
    let may = held["items"][0]["grants"][0]["may"].as_array().unwrap().clone();
    let words = json!({"en": "Pay \u{2068}10.00\u{2069} to \u{2068}Bea\u{2069}",
        "pt": "Pagar \u{2068}10.00\u{2069} para \u{2068}Bea\u{2069}"});
    assert_eq!(may.last(), Some(&words), "{held}");
    assert_eq!(held["items"][0]["grants"][0]["audience_name"], "Ledger");
    // Each time is asked anew: what was allowed once was allowed once.
    let again = client.ask(&mut browser, &super::driver::verifier(), &more).await.json();
    assert_eq!(again["stage"], "consent");
}

#[tokio::test]
async fn unknown_types_and_members_are_refused() {
    let (app, mut browser, client) = ready().await;
    let limited = Relying::with(
        &app,
        Trust::Verified,
        json!({"token_endpoint_auth_method": "none", "authorization_details_types": ["other"]}),
    )
    .await;
    for (client, details, resource) in [
        (&client, json!([{"type": "loan"}]), LEDGER),
        (&client, json!([{"type": "payment", "amount": "10.00", "to": "Bea", "from": "Ana"}]), LEDGER),
        (&client, json!([{"type": "payment", "amount": 10, "to": "Bea"}]), LEDGER),
        (&client, json!([{"type": "payment", "to": "Bea"}]), LEDGER),
        (&client, json!([]), LEDGER),
        (&client, json!({"type": "payment"}), LEDGER),
        (&client, payment("10.00"), "https://id.example.test"),
        (&limited, payment("10.00"), LEDGER),
    ] {
        let text = details.to_string();
        let more = [("resource", resource), ("authorization_details", text.as_str())];
        let answer = client.ask(&mut browser, &verifier(), &more).await.json();
        assert_eq!(
            parameter(&answer, "error").as_deref(),
            Some("invalid_authorization_details"),
            "{details}"
        );
    }
    // ASVS 10.4.15: a server-side client pushes or signs what it asks in detail.
    let web = Relying::web(&app).await;
    let text = payment("10.00").to_string();
    let answer =
        web.ask(&mut browser, &verifier(), &[("resource", LEDGER), ("authorization_details", &text)]).await;
    assert_eq!(parameter(&answer.json(), "error").as_deref(), Some("invalid_request"));
}

#[tokio::test]
async fn a_token_request_may_ask_for_less_and_never_for_more() {
    let (app, mut browser, client) = ready().await;
    let details = payment("10.00").to_string();
    let more = [("scope", "openid"), ("resource", LEDGER), ("authorization_details", details.as_str())];
    let (code, verifier) = client.code(&mut browser, &more).await;
    let redeem = |details: Value| {
        let (code, verifier, details) = (code.clone(), verifier.clone(), details.to_string());
        let (app, client) = (&app, &client);
        async move {
            let form =
                [("code", code.as_str()), ("code_verifier", &verifier), ("authorization_details", &details)];
            client.token(app, "authorization_code", &form).await
        }
    };
    let two = json!([payment("5.00")[0], payment("5.00")[0]]);
    for wider in
        [payment("10.01"), two, json!([{"type": "payment", "amount": "5.00", "to": "Eve"}]), json!("x")]
    {
        let answer = redeem(wider.clone()).await;
        assert_eq!(answer.json()["error"], "invalid_authorization_details", "{wider}");
    }
    let narrow = json!([{"type": "payment", "amount": "2.50", "to": "Bea", "actions": ["status"]}]);
    let tokens = redeem(narrow.clone()).await.json();
    assert_eq!(tokens["authorization_details"], narrow);
    // The family keeps what was granted.
    let next = client.refresh(&app, tokens["refresh_token"].as_str().unwrap(), &[]).await.json();
    assert_eq!(next["authorization_details"], payment("10.00"));
    let wide = payment("11.00").to_string();
    let refused = client
        .refresh(&app, next["refresh_token"].as_str().unwrap(), &[("authorization_details", &wide)])
        .await;
    assert_eq!(refused.json()["error"], "invalid_authorization_details");
    assert_eq!(client.refresh(&app, next["refresh_token"].as_str().unwrap(), &[]).await.status, 200);
}
