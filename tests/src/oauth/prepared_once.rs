//! An authorization request is read and checked once per call outside a transaction, and once inside the transaction of
//! the call, if there is one. A step that finds out who the person is reads it a second time inside: it waits for their
//! account's lock, and the client may change meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};

use porteiro_service::{
    App,
    flow::{Continuation, Prepared, Purpose, Source, Work},
    oauth::authorization::AuthorizationPurpose,
};
use porteiro_testkit::TestApp;
use serde_json::json;

use super::driver::{Relying, agree, get_json, person, verifier};

static OUTSIDE: AtomicUsize = AtomicUsize::new(0);
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// The real purpose, counted. The authorization endpoint prepares the request once itself, to know whom it may answer,
/// and hands it to the engine: what is counted here is what the engine adds to that.
#[derive(Debug)]
struct Counted;

impl Purpose for Counted {
    fn name(&self) -> &'static str {
        AuthorizationPurpose.name()
    }

    fn prepare<'a>(
        &'a self,
        app: &'a App,
        source: Source<'a>,
        continuation: &'a Continuation,
    ) -> Work<'a, Box<dyn Prepared>> {
        let counter = match source {
            Source::Store(_) => &OUTSIDE,
            Source::Tx(_) => &INSIDE,
        };
        counter.fetch_add(1, Ordering::SeqCst);
        AuthorizationPurpose.prepare(app, source, continuation)
    }
}

/// How often it was prepared since last asked: outside a transaction, inside one.
fn counted() -> (usize, usize) {
    (OUTSIDE.swap(0, Ordering::SeqCst), INSIDE.swap(0, Ordering::SeqCst))
}

#[tokio::test]
async fn a_request_is_prepared_once_outside_and_once_inside_the_transaction() {
    let app = TestApp::builder().people().purposes(&[&Counted]).start().await;
    let app = std::sync::Arc::new(app);
    let mut browser = person(&app).await;
    let client = Relying::web(&app).await;
    let ask = [("scope", "openid")];

    let mut nobody = porteiro_testkit::Browser::new(&app);
    let answer = client.ask(&mut nobody, &verifier(), &ask).await;
    assert_eq!(answer.json()["stage"], "authenticate", "{}", answer.text());
    assert_eq!(counted(), (0, 0), "nobody is signed in: a flow is opened with what the endpoint prepared");

    let answer = client.ask(&mut browser, &verifier(), &ask).await;
    let flow = answer.json();
    assert_eq!(flow["stage"], "consent", "{}", answer.text());
    assert_eq!(counted(), (0, 1), "somebody is: the decision is made under the account's lock");

    let path = format!("/v1/flows/{}", flow["id"].as_str().unwrap());
    get_json(&mut browser, &path).await;
    assert_eq!(counted(), (1, 0), "a flow is shown");

    let answer = browser.post(&format!("{path}/consent/allow"), &json!({"step": 99})).await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(counted(), (1, 0), "a step that is stale");

    assert_eq!(agree(&mut browser, flow).await["stage"], "complete");
    assert_eq!(counted(), (1, 1), "a step that completes the flow");

    let answer = client.ask(&mut browser, &verifier(), &ask).await;
    assert_eq!(answer.json()["stage"], "complete", "{}", answer.text());
    assert_eq!(counted(), (0, 1), "nobody has to be asked: answered at once");
}
