//! The line to PostgreSQL is cut at random while people register and sign in: nothing is half done, nobody is told a
//! thing happened that did not.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use porteiro_testkit::{Answer, Browser, Flow, TestApp};
use serde_json::{Value, json};

/// One call on a flow; a 503 means only that nobody knows. The flow is then looked at again, as a client would.
async fn call(browser: &mut Browser, flow: &mut Flow, action: &str, input: &Value) -> Option<Answer> {
    for _ in 0..20 {
        let answer = flow.attempt(browser, action, input.clone()).await;
        match answer.status.as_u16() {
            503 => {
                let shown = flow.show(browser).await;
                if shown.status == 200 && flow.stage() == "complete" {
                    return Some(shown);
                }
            }
            _ => return Some(answer),
        }
    }
    None
}

/// Registers, beginning anew whenever a flow is lost; says whether the browser holds a session at the end.
async fn register(app: &Arc<TestApp>, address: &str) -> Browser {
    for _ in 0..40 {
        let mut browser = Browser::new(app);
        app.forget_limits().await;
        let opened = browser.post("/v1/flows", &json!({"kind": "register"})).await;
        if opened.status != 201 {
            continue;
        }
        let mut flow = Flow::new(opened.json());
        let sent = call(&mut browser, &mut flow, "email_code/send", &json!({"identifier": address})).await;
        if sent.is_none_or(|answer| answer.status != 200) || app.mails(address).await.is_empty() {
            continue;
        }
        let code = app.mailed_code(address).await;
        for (action, input) in [
            ("email_code/check", json!({"code": code})),
            ("profile/set", json!({"display_name": "Ana"})),
            ("enrol/skip", json!({})),
        ] {
            if flow.stage() != "complete" {
                call(&mut browser, &mut flow, action, &input).await;
            }
        }
        if browser.session().is_some() {
            return browser;
        }
    }
    panic!("{address} never got through");
}

#[tokio::test]
async fn f2_people_register_through_random_cuts_and_nothing_is_half_done() {
    let app = Arc::new(TestApp::builder().people().proxied().start().await);
    let faults = app.proxy.as_ref().unwrap().faults.clone();
    faults.random_per_mille.store(8, Ordering::Relaxed);
    let mut people = tokio::task::JoinSet::new();
    for index in 0..6 {
        let app = app.clone();
        people.spawn(async move { register(&app, &format!("ana{index}@example.test")).await });
    }
    let browsers = tokio::time::timeout(Duration::from_mins(2), people.join_all()).await.expect("a deadlock");
    faults.random_per_mille.store(0, Ordering::Relaxed);
    assert!(faults.cuts.load(Ordering::Relaxed) > 10, "the proxy hardly cut anything");

    for mut browser in browsers {
        let answer = browser.get("/v1/account").await;
        assert_eq!(answer.status, 200, "whoever was given a session has one: {}", answer.text());
    }
    assert_eq!(
        app.count("SELECT count(*) FROM account").await,
        6,
        "one account a person, however often they tried"
    );
    for (what, sql) in [
        (
            "an account without its identifier",
            "SELECT count(*) FROM account a WHERE NOT EXISTS (SELECT 1 FROM identifier i WHERE i.account_id = a.account_id AND kind = 'email')",
        ),
        (
            "an identifier without its account",
            "SELECT count(*) FROM identifier i WHERE NOT EXISTS (SELECT 1 FROM account a WHERE a.account_id = i.account_id)",
        ),
        (
            "an account nobody wrote down",
            "SELECT count(*) FROM account a WHERE (SELECT count(*) FROM security_log WHERE subject_id = a.account_id AND kind = 'account.created') <> 1",
        ),
        (
            "a session nobody wrote down",
            "SELECT count(*) FROM session s WHERE NOT EXISTS (SELECT 1 FROM security_log WHERE subject_id = s.account_id AND payload->>'session_id' = s.session_id::text)",
        ),
        (
            "a log entry without its session",
            "SELECT count(*) FROM security_log l WHERE kind = 'sign_in.succeeded' AND NOT EXISTS (SELECT 1 FROM session s WHERE s.session_id::text = l.payload->>'session_id')",
        ),
    ] {
        assert_eq!(app.count(sql).await, 0, "{what}");
    }
}
