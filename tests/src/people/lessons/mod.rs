//! What went wrong elsewhere, as tests here. Each is named after its advisory; `docs/cves.md` lists them all.

mod bindings;
mod limits;
mod proofs;

use std::sync::Arc;

use porteiro_testkit::{Browser, Flow, TestApp, nothing};
use serde_json::json;

const ANA: &str = "ana@example.test";

/// Signs in by mailed code, in a browser nobody has used.
async fn signed_in(app: &Arc<TestApp>, address: &str) -> Browser {
    app.forget_limits().await;
    let mut browser = Browser::new(app);
    let mut flow = mailbox_proved(app, &mut browser, "sign_in", address).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    browser
}

async fn mailbox_proved(app: &Arc<TestApp>, browser: &mut Browser, kind: &str, address: &str) -> Flow {
    let mut flow = browser.open(json!({"kind": kind})).await;
    flow.act(browser, "email_code/send", json!({"identifier": address})).await;
    let code = app.mailed_code(address).await;
    flow.act(browser, "email_code/check", json!({"code": code})).await;
    flow
}
