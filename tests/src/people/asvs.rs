//! Requirements of OWASP ASVS 5.0 that no other test shows; `docs/asvs.md` lists them all.

use axum::body::Body;
use http::Request;
use porteiro_testkit::{Browser, nothing};
use serde_json::json;

use super::{
    PASSWORD, app, enrol, register, register_to_enrolment, register_with_passkey, register_with_password,
};

const ANA: &str = "ana@example.test";

#[tokio::test]
async fn asvs_6_2_9_long_passwords_are_taken_whole() {
    let app = app().await;
    for (length, address) in [(64, "ana@example.test"), (256, "bob@example.test")] {
        app.forget_limits().await;
        let long: String = "kT9#vLq2".chars().cycle().take(length).collect();
        let mut browser = Browser::new(&app);
        let mut flow = register_to_enrolment(&app, &mut browser, address).await;
        flow.act(&mut browser, "password/set", json!({"new_password": long})).await;
        let shorter: String = long.chars().take(length - 1).collect();
        for (password, expected) in [(shorter, 422), (long, 200)] {
            let mut other = Browser::new(&app);
            let mut flow = other.open(json!({"kind": "sign_in"})).await;
            let input = json!({"identifier": address, "password": password});
            assert_eq!(flow.attempt(&mut other, "password/check", input).await.status, expected, "{length}");
        }
    }
}

#[tokio::test]
async fn asvs_6_2_10_and_6_4_2_no_column_for_expiry_hints_or_questions() {
    let app = app().await;
    let columns =
        "SELECT count(*) FROM information_schema.columns WHERE table_name IN ('account', 'credential')
                   AND column_name ~ '(password|secret).*(expire|changed)|hint|question|answer|must_change'";
    assert_eq!(app.count(columns).await, 0);
    register_with_password(&app, ANA).await;
    app.sql("UPDATE credential SET created_at = now() - interval '10 years'").await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "sign_in"})).await;
    flow.act(&mut browser, "password/check", json!({"identifier": ANA, "password": PASSWORD})).await;
    assert_eq!(flow.stage(), "enrol", "an old password is as good as ever; only a passkey is offered");
}

#[tokio::test]
async fn asvs_6_5_2_what_can_be_guessed_is_stored_under_a_password_hash() {
    let app = app().await;
    let mut browser = Browser::new(&app);
    let mut flow = browser.open(json!({"kind": "register"})).await;
    flow.act(&mut browser, "email_code/send", json!({"identifier": ANA})).await;
    let code = app.mailed_code(ANA).await;
    let hashed =
        "SELECT count(*) FROM challenge WHERE module = 'email_code' AND body->>'hash' LIKE '$argon2id$%'";
    assert_eq!(app.count(hashed).await, 1);
    let plain = format!("SELECT count(*) FROM challenge WHERE body::text LIKE '%{code}%'");
    assert_eq!(app.count(&plain).await, 0);
}

#[tokio::test]
async fn asvs_6_5_5_a_mailed_or_texted_code_lives_ten_minutes() {
    let app = app().await;
    let mut browser = register(&app, ANA).await;
    app.forget_limits().await;
    let mut phone = enrol(&mut browser, "phone").await;
    phone.act(&mut browser, "phone/add", json!({"number": "+351912345678"})).await;
    let longer = "SELECT count(*) FROM challenge WHERE expires_at > created_at + interval '10 minutes'";
    assert_eq!(app.count(longer).await, 0);
    let codes = "SELECT count(*) FROM challenge WHERE module IN ('email_code', 'phone_add')
                 AND expires_at = created_at + interval '10 minutes'";
    assert_eq!(app.count(codes).await, 2);
}

#[tokio::test]
async fn asvs_6_6_1_a_text_message_goes_only_to_a_number_its_owner_proved() {
    let app = app().await;
    let mut browser = register_with_password(&app, ANA).await;
    let mut proved = browser.open(json!({"kind": "reauthenticate"})).await;
    proved.act(&mut browser, "password/check", json!({"password": PASSWORD})).await;
    let mut adding = enrol(&mut browser, "phone").await;
    adding.act(&mut browser, "phone/add", json!({"number": "+351912345678"})).await;
    let sign_in = json!({"identifier": ANA, "password": PASSWORD});
    let open = json!({"kind": "sign_in", "level": "aal2"});
    let mut other = Browser::new(&app);
    let mut flow = other.open(open.clone()).await;
    flow.act(&mut other, "password/check", sign_in.clone()).await;
    assert_eq!(flow.stage(), "enrol", "an unproved number is no way to a level");
    let code = app.texted_code("+351912345678").await;
    adding.act(&mut browser, "phone/verify", json!({"code": code})).await;
    let mut flow = other.open(open).await;
    flow.act(&mut other, "password/check", sign_in).await;
    assert!(flow.offers().contains(&"sms_code/send"), "{:?}", flow.offers());
    flow.act(&mut other, "sms_code/send", nothing()).await;
    let code = app.texted_code("+351912345678").await;
    flow.act(&mut other, "sms_code/check", json!({"code": code})).await;
    assert!(flow.offers().contains(&"passkey/enrol_begin"), "something stronger is offered");
}

#[tokio::test]
async fn asvs_7_2_1_an_altered_or_made_up_token_is_nobody() {
    let app = app().await;
    let browser = register(&app, ANA).await;
    let good = browser.session().unwrap().clone();
    let mut flipped = good.clone().into_bytes();
    let last = flipped.len() - 1;
    flipped[last] = if flipped[last] == b'A' { b'B' } else { b'A' };
    let flipped = String::from_utf8(flipped).unwrap();
    for token in [flipped, format!("{good}A"), good[..good.len() - 1].to_owned(), String::new()] {
        let mut other = Browser::new(&app);
        other.cookies.insert("__Host-session".into(), token);
        assert_eq!(other.get("/v1/account").await.status, 401);
    }
    // Two cookies of one name: somebody is trying to shadow ours.
    let twice = format!("__Host-session={good}; __Host-session={good}");
    let request = Request::get("/v1/account").header("cookie", twice).body(Body::empty()).unwrap();
    assert_eq!(app.send(request).await.status, 401);
}

#[tokio::test]
async fn asvs_7_2_3_the_database_holds_no_token() {
    let app = app().await;
    let browser = register(&app, ANA).await;
    let stored = "SELECT count(*) FROM session WHERE length(token_hash) = 32";
    assert_eq!(app.count(stored).await, 1);
    for token in browser.cookies.values() {
        for table in ["session", "flow", "account", "credential", "challenge", "security_log", "identifier"] {
            let found = format!("SELECT count(*) FROM {table} t WHERE t::text LIKE '%{token}%'");
            assert_eq!(app.count(&found).await, 0, "{table}");
        }
    }
}

#[tokio::test]
async fn asvs_7_2_4_a_step_up_replaces_the_token() {
    let app = app().await;
    let (mut browser, mut authenticator) = register_with_passkey(&app, ANA).await;
    let before = browser.session().unwrap().clone();
    let mut flow = browser.open(json!({"kind": "reauthenticate"})).await;
    flow.act(&mut browser, "passkey/begin", nothing()).await;
    let response = authenticator.authenticate(&flow.now["challenge"]["public_key"]);
    flow.act(&mut browser, "passkey/finish", json!({"credential": response})).await;
    assert_ne!(browser.session().unwrap(), &before);
    let mut thief = Browser::new(&app);
    thief.cookies.insert("__Host-session".into(), before);
    assert_eq!(thief.get("/v1/account").await.status, 401);
    assert_eq!(browser.get("/v1/account").await.json()["assurance"]["have"], "aal2");
}

#[tokio::test]
async fn asvs_7_6_2_no_get_makes_a_session() {
    let app = app().await;
    register(&app, ANA).await;
    let mut browser = Browser::new(&app);
    let flow = browser.open(json!({"kind": "sign_in"})).await;
    let before = app.count("SELECT count(*) FROM session").await;
    for route in porteiro_service::table().iter().filter(|route| route.method == "GET") {
        let path = route.path.replace("{id}", flow.id());
        let answer = browser.get(&path).await;
        // Signing out takes cookies away, also where nobody is signed in.
        let sets = |line: &&http::HeaderValue| !line.to_str().unwrap().contains("=; Path=/; Max-Age=0");
        let cookies: Vec<_> = answer.headers.get_all("set-cookie").iter().filter(sets).collect();
        assert!(cookies.is_empty(), "{path}: {cookies:?}");
    }
    assert_eq!(app.count("SELECT count(*) FROM session").await, before);
}
