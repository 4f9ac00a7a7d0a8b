//! What a person reads of a request stays what it was, and a value in it is seen as one.

use porteiro_service::oauth::apis;
use serde_json::{Value, json};

use super::driver::{Scene, ledger_with_payments, noticed};

/// The API and the client say something else from now on.
async fn say_something_else(scene: &Scene) {
    let mut api = ledger_with_payments();
    api.name = "Charity".into();
    for kind in &mut api.details {
        kind.display.en = "Receive {amount}".into();
        kind.display.pt = "Receber {amount}".into();
    }
    apis::register(&scene.app.app.store, &api).await.unwrap();
    let rename = "UPDATE client SET metadata = metadata || '{\"client_name\": \"Your bank\"}', changed_at = clock_timestamp()";
    scene.app.sql(rename).await;
    noticed().await;
}

#[tokio::test]
async fn names_and_words_are_those_of_the_request_whatever_becomes_of_them() {
    let mut scene = Scene::asking().await;
    let read = |it: &Value| json!([it["wants"], it["client_name"], it["audience_name"], it["digest"]]);
    let request = scene.asked(&[]).await;
    let before = scene.waiting().await;
    assert!(before["wants"].to_string().contains("Pay"), "{before}");
    say_something_else(&scene).await;
    assert_eq!(read(&scene.waiting().await), read(&before), "while it waits");
    let approved = scene.approve(&request).await;
    assert_eq!(read(&approved), read(&before), "when it was decided");
    assert_eq!(scene.poll(&request).await.status, 200);
    let path = format!("/v1/account/approvals/{}", before["id"].as_str().unwrap());
    assert_eq!(read(&scene.browser.get(&path).await.json()), read(&before), "in the history");
    scene.asked(&[]).await;
    assert!(scene.waiting().await["wants"].to_string().contains("Receive"), "the next one has the new words");
}

#[tokio::test]
async fn letters_of_another_direction_stay_within_their_value() {
    let mut scene = Scene::asking().await;
    let details = json!([{"type": "payment", "amount": "10.00", "to": "אבג 99"}]).to_string();
    scene.asked(&[("authorization_details", &details)]).await;
    let words = json!({
        "en": "Pay \u{2068}10.00\u{2069} to \u{2068}אבג 99\u{2069}",
        "pt": "Pagar \u{2068}10.00\u{2069} para \u{2068}אבג 99\u{2069}",
    });
    let waiting = scene.waiting().await;
    assert!(waiting["wants"].as_array().unwrap().contains(&words), "{waiting}");
}
