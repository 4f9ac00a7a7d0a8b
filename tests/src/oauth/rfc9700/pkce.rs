//! Proof keys (RFC 9700 §2.1.1, §4.8; OAuth 2.1 §4.1): always, S256, once.

use porteiro_service::oauth::clients::Trust;

use super::{
    super::{
        app,
        codes::refused,
        driver::{Relying, agree, challenge, parameter, person, verifier},
    },
    error, known, location, value,
};

#[tokio::test]
async fn a_request_without_a_sound_challenge_is_refused() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let right = challenge(&verifier());
    let (short, long) = (&right[1..], format!("{right}A"));
    let padded = format!("{right}=");
    for (what, more) in [
        ("no challenge", vec![("code_challenge", "")]),
        ("neither", vec![("code_challenge", ""), ("code_challenge_method", "")]),
        ("no method, which would mean plain", vec![("code_challenge_method", "")]),
        ("plain", vec![("code_challenge_method", "plain")]),
        ("another spelling", vec![("code_challenge_method", "s256")]),
        ("a method nobody knows", vec![("code_challenge_method", "S512")]),
        ("too short", vec![("code_challenge", short)]),
        ("too long", vec![("code_challenge", long.as_str())]),
        ("padded", vec![("code_challenge", padded.as_str())]),
        ("not base64url", vec![("code_challenge", "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!")]),
    ] {
        for silent in [false, true] {
            let mut more = more.clone();
            if silent {
                more.push(("prompt", "none"));
            }
            let answer = browser.get(&client.path(&verifier(), &more)).await;
            assert_eq!(error(&answer), "invalid_request", "{what}");
            assert!(value(&location(&answer), "code").is_none(), "{what}");
        }
    }
    let empty = format!("{}&code_challenge=", client.path(&verifier(), &[("code_challenge", "")]));
    assert_eq!(error(&browser.get(&empty).await), "invalid_request");
    // Public or not, checked or not, nobody is excused.
    for trust in [Trust::FirstParty, Trust::Verified] {
        let public = Relying::public(&app, trust).await;
        let answer = browser.get(&public.path(&verifier(), &[("code_challenge", "")])).await;
        assert_eq!(error(&answer), "invalid_request");
    }
}

/// RFC 9700 §4.8.2: dropping the challenge from the request is no way around it, nor is dropping the verifier.
#[tokio::test]
async fn a_code_and_its_verifier_belong_together() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let (one, first) = client.code(&mut browser, &[]).await;
    let (two, second) = client.code(&mut browser, &[]).await;
    refused(&client.redeem(&app, &one, &second).await, "invalid_grant");
    refused(&client.redeem(&app, &two, &first).await, "invalid_grant");
    // The challenge itself is no verifier: that would be `plain`.
    refused(&client.redeem(&app, &one, &challenge(&first)).await, "invalid_grant");
    let bare = [("code", one.as_str()), ("redirect_uri", &client.redirect_uri)];
    refused(&client.token(&app, "authorization_code", &bare).await, "invalid_grant");
    let theirs = challenge(&second);
    let again = [bare.as_slice(), &[("code_challenge", &theirs), ("code_verifier", &second)]].concat();
    refused(&client.token(&app, "authorization_code", &again).await, "invalid_grant");
    assert_eq!(client.redeem(&app, &one, &first).await.status, 200);
    assert_eq!(client.redeem(&app, &two, &second).await.status, 200);
}

#[tokio::test]
async fn metadata_says_that_s256_is_spoken_and_nothing_else() {
    let app = app().await;
    for path in ["/.well-known/openid-configuration", "/.well-known/oauth-authorization-server"] {
        let metadata = app.get(path).await.json();
        assert_eq!(metadata["code_challenge_methods_supported"], serde_json::json!(["S256"]), "{path}");
    }
}

/// RFC 9700 §2.1.1: a constant challenge protects nothing.
#[tokio::test]
async fn a_challenge_is_good_for_one_authorization_a_day() {
    let app = app().await;
    let mut browser = person(&app).await;
    let (client, other) = (known(&app, &mut browser).await, known(&app, &mut browser).await);
    let constant = verifier();
    let answer = browser.get(&client.path(&constant, &[])).await;
    let code = value(&location(&answer), "code").unwrap();
    for more in [vec![], vec![("prompt", "none")], vec![("state", "another"), ("nonce", "another")]] {
        let answer = browser.get(&client.path(&constant, &more)).await;
        assert_eq!(error(&answer), "invalid_request");
        assert!(value(&location(&answer), "code").is_none());
    }
    // The one that was given out is none the worse, and another client's verifiers are its own affair.
    assert_eq!(client.redeem(&app, &code, &constant).await.status, 200);
    let answer = browser.get(&other.path(&constant, &[])).await;
    assert!(value(&location(&answer), "code").is_some());
    // Asking for consent and turning back uses nothing up.
    let fresh = verifier();
    let asked = client.ask(&mut browser, &fresh, &[("prompt", "consent")]).await.json();
    assert_eq!(asked["stage"], "consent");
    let asked = client.ask(&mut browser, &fresh, &[]).await.json();
    let done = agree(&mut browser, asked).await;
    assert!(parameter(&done, "code").is_some(), "{done}");
}

/// OAuth 2.1 §4.1.2: whoever sees the answer learns nothing about the challenge.
#[tokio::test]
async fn no_answer_shows_the_challenge_or_the_verifier() {
    let app = app().await;
    let mut browser = person(&app).await;
    let client = known(&app, &mut browser).await;
    let secret = verifier();
    let seen = challenge(&secret);
    let answer = browser.get(&client.path(&secret, &[])).await;
    let code = value(&location(&answer), "code").unwrap();
    let bad = browser.get(&client.path(&secret, &[("scope", "no:such")])).await;
    let flow = client.ask(&mut browser, &secret, &[("prompt", "consent")]).await;
    let wrong = client.redeem(&app, &code, &verifier()).await;
    let tokens = client.redeem(&app, &code, &secret).await;
    assert_eq!((flow.status.as_u16(), tokens.status.as_u16()), (200, 200));
    for answer in [answer, bad, flow, wrong, tokens] {
        let all = format!("{:?} {}", answer.headers, answer.text());
        assert!(!all.contains(&seen) && !all.contains(&secret), "{all}");
    }
}
