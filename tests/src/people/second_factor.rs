//! TOTP and recovery codes: each code once, the level they add up to, step-up.

use porteiro_testkit::{Browser, Flow, nothing};
use serde_json::json;

use super::{PASSWORD, app, enrol, enrol_totp, generate_recovery_codes, register_with_password, step_now};

/// A browser with a fresh password proof.
async fn signed_in(app: &std::sync::Arc<porteiro_testkit::TestApp>) -> Browser {
    let mut browser = register_with_password(app, "ana@example.test").await;
    reauthenticate(&mut browser).await;
    browser
}

async fn reauthenticate(browser: &mut Browser) {
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!(flow.stage(), "complete");
}

async fn password_then_raise(browser: &mut Browser) -> Flow {
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(browser, "password/check", input).await;
    assert_eq!(flow.stage(), "raise");
    flow
}

#[tokio::test]
async fn password_and_totp_reach_aal2() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    let secret = enrol_totp(&mut browser).await;
    let mut other = Browser::new(&app);
    let mut flow = password_then_raise(&mut other).await;
    assert!(flow.offers().contains(&"totp/check"));
    flow.act(&mut other, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    flow.act(&mut other, "enrol/skip", nothing()).await;
    assert_eq!(flow.stage(), "complete");
    assert_eq!(other.get("/v1/account").await.json()["assurance"]["have"], "aal2");
}

#[tokio::test]
async fn asvs_6_5_1_a_totp_code_is_accepted_once_however_many_present_it_at_once() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    let secret = enrol_totp(&mut browser).await;
    let code = secret.code(step_now(1));
    let mut flows = Vec::new();
    for _ in 0..4 {
        let mut other = Browser::new(&app);
        let flow = password_then_raise(&mut other).await;
        flows.push((other, flow));
    }
    app.forget_limits().await;
    let mut racing = tokio::task::JoinSet::new();
    for (mut other, mut flow) in flows {
        let code = code.clone();
        racing.spawn(async move {
            flow.attempt(&mut other, "totp/check", json!({"code": code})).await.status == 200
        });
    }
    assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn the_code_shown_at_enrolment_is_used_up() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    // Half a minute may end at any point below: what was shown is of this step or a later one.
    let shown = step_now(0);
    let secret = enrol_totp(&mut browser).await;
    let mut other = Browser::new(&app);
    let mut flow = password_then_raise(&mut other).await;
    for step in [shown, shown - 1] {
        let code = json!({"code": secret.code(step)});
        assert_eq!(flow.attempt(&mut other, "totp/check", code).await.status, 422);
    }
}

#[tokio::test]
async fn recovery_codes_are_shown_once_stored_hashed_and_good_once() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    let codes = generate_recovery_codes(&mut browser).await;
    assert_eq!(codes.len(), 10);
    assert_eq!(app.count("SELECT count(*) FROM recovery_code WHERE hash LIKE '$argon2id$%'").await, 10);

    let mut racing = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let mut other = Browser::new(&app);
        let mut flow = password_then_raise(&mut other).await;
        let code = codes[0].clone();
        racing.spawn(async move {
            flow.attempt(&mut other, "recovery_code/check", json!({"code": code})).await.status == 200
        });
    }
    assert_eq!(racing.join_all().await.into_iter().filter(|won| *won).count(), 1);
    let listed = browser.get("/v1/account/credentials").await.json();
    let set = listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["kind"] == "recovery_codes")
        .unwrap()
        .clone();
    assert_eq!(set["remaining"], 9);
}

#[tokio::test]
async fn a_new_set_replaces_the_old_one() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    let old = generate_recovery_codes(&mut browser).await;
    // Password and codes together are the account's best now: both are asked for.
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    assert_eq!(flow.stage(), "raise");
    flow.act(&mut browser, "recovery_code/check", json!({"code": old[1]})).await;
    assert_eq!(flow.stage(), "complete");
    generate_recovery_codes(&mut browser).await;
    let mut other = Browser::new(&app);
    let mut flow = password_then_raise(&mut other).await;
    let answer = flow.attempt(&mut other, "recovery_code/check", json!({"code": old[2]})).await;
    assert_eq!(answer.status, 422);
    assert_eq!(app.count("SELECT count(*) FROM recovery_code").await, 10);
}

#[tokio::test]
async fn a_level_that_a_worn_out_factor_bars_is_refused_never_lowered() {
    let app = app().await;
    let mut owner = signed_in(&app).await;
    generate_recovery_codes(&mut owner).await;
    app.sql("UPDATE credential SET state = 'exhausted' WHERE kind = 'recovery_codes'").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    let input = json!({"identifier": "ana@example.test", "password": PASSWORD});
    flow.act(&mut browser, "password/check", input).await;
    assert_eq!((flow.stage(), &flow.now["reason"]), ("denied", &json!("unmet_authentication_requirements")));
    assert!(browser.session().is_none());
}

/// Zitadel GHSA-45f2-5q3r-xgg6: enrolment on a session that is merely there.
#[tokio::test]
async fn ghsa_45f2_5q3r_xgg6_nothing_is_bound_without_a_fresh_proof_at_the_accounts_best() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    enrol_totp(&mut browser).await;
    for kind in ["passkey", "password", "totp", "recovery_codes", "email"] {
        let flow = enrol(&mut browser, kind).await;
        assert_eq!(flow.stage(), "raise", "{kind}: a password alone is not the account's best any more");
    }
    app.sql("UPDATE session SET proofs = (SELECT jsonb_agg(jsonb_set(p, '{at}', to_jsonb((p->>'at')::bigint - 900))) FROM jsonb_array_elements(proofs) p)").await;
    for kind in ["passkey", "password"] {
        let mut flow = enrol(&mut browser, kind).await;
        assert_eq!(flow.stage(), "raise", "{kind}: stale");
        for action in ["passkey/enrol_begin", "password/set"] {
            let answer =
                flow.attempt(&mut browser, action, json!({"new_password": "another long password"})).await;
            assert_eq!(answer.status, 400, "{action}");
        }
    }
    let mut nobody = Browser::new(&app);
    let answer = nobody.post("/v1/flows", &json!({"kind": "enrol", "enrol": "passkey"})).await;
    assert_eq!(answer.status, 401);
}

/// The same question again, after a right answer, is one nobody can get past by answering it.
#[tokio::test]
async fn whoever_proved_one_factor_afresh_is_asked_for_the_other_and_not_for_the_same_again() {
    let app = app().await;
    let mut browser = signed_in(&app).await;
    let secret = enrol_totp(&mut browser).await;
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    assert!(flow.offers().contains(&"password/check") && flow.offers().contains(&"totp/check"));
    flow.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    assert_eq!((flow.stage(), flow.offers()), ("raise", vec!["totp/check"]));
    flow.act(&mut browser, "totp/check", json!({"code": secret.code(step_now(1))})).await;
    assert_eq!(flow.stage(), "complete");
}
