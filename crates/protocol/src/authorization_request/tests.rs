use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{form::Parameters, redirect_uri::RedirectUri};

const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const ISSUER: &str = "https://op.example";

fn encode(pairs: &[(&str, &str)]) -> RawRequest {
    let text = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish();
    RawRequest::from_parameters(&Parameters::parse(text.as_bytes()).unwrap())
}
/// A valid request with these parameters replaced; an empty one is removed.
fn request(changes: &[(&str, &str)]) -> RawRequest {
    let good = [
        ("client_id", "c1"),
        ("redirect_uri", "https://client.example/cb"),
        ("response_type", "code"),
        ("code_challenge", CHALLENGE),
        ("code_challenge_method", "S256"),
    ];
    let kept = good.into_iter().filter(|(name, _)| changes.iter().all(|(changed, _)| changed != name));
    encode(&kept.chain(changes.iter().copied()).collect::<Vec<_>>())
}

#[test]
fn a_full_request() {
    let raw = request(&[
        ("response_mode", "form_post"),
        ("scope", "openid profile"),
        ("state", "s t/a+t&e"),
        ("nonce", "n"),
        ("prompt", "login consent"),
        ("max_age", "0"),
        ("acr_values", "aal2 aal1"),
        (
            "claims",
            "{\n \"userinfo\": {\"name\": {\"essential\": true}, \"email\": null}, \"id_token\": {\"acr\": {\"values\": [\"aal2\"]}}, \"x\": 1}",
        ),
        ("ui_locales", "pt-PT en <script>"),
        ("claims_locales", "se"),
        ("display", "popup"),
        ("login_hint", "ana@example.com"),
        ("id_token_hint", "a.b.c"),
        ("resource", "https://api.example/v1"),
        ("authorization_details", r#"[{"type":"payment","amount":{"value":"1"}}]"#),
        ("organization", "acme"),
        ("dpop_jkt", CHALLENGE),
        ("extra", "foobar"),
    ]);
    assert_eq!(raw.source(), Ok(Source::Here));
    let read = raw.check().unwrap();
    assert_eq!((read.client_id.as_str(), read.response_type), ("c1", ResponseType::Code));
    assert_eq!(read.response_mode, Some(ResponseMode::FormPost));
    assert!(read.is_openid() && read.prompts(Prompt::Login) && !read.prompts(Prompt::Create));
    assert_eq!((read.state.as_deref(), raw.state()), (Some("s t/a+t&e"), Some("s t/a+t&e")));
    assert_eq!(
        (read.max_age, read.acr_values.len(), read.ui_locales),
        (Some(0), 2, vec!["pt-PT".to_owned(), "en".to_owned()])
    );
    let claims = read.claims.unwrap();
    assert!(claims.userinfo["name"].essential);
    assert_eq!(claims.userinfo["email"], ClaimRequest::default());
    assert_eq!(claims.id_token["acr"].values, Some(vec![json!("aal2")]));
    let stored = serde_json::to_value(&claims).unwrap();
    assert_eq!(serde_json::from_value::<ClaimsRequest>(stored).unwrap(), claims);
    assert_eq!(read.authorization_details.unwrap()[0]["type"], "payment");
    let stored = serde_json::to_string(&raw).unwrap();
    assert_eq!(serde_json::from_str::<RawRequest>(&stored).unwrap(), raw);
    for printed in [format!("{raw:?}"), format!("{:?}", raw.check().unwrap())] {
        assert!(!printed.contains("ana@") && !printed.contains("s t/"), "{printed}");
    }
}

#[test]
fn plain_oauth_needs_little() {
    let read = request(&[("redirect_uri", "")]).check().unwrap();
    assert!(
        read.scope.is_empty() && !read.is_openid() && read.redirect_uri.is_none() && read.nonce.is_none()
    );
}

#[test]
fn phase_one_decides_where_an_answer_may_go() {
    let one = [RedirectUri::register("https://client.example/cb").unwrap()];
    let two = [one[0].clone(), RedirectUri::register("http://127.0.0.1/cb").unwrap()];
    let choose = |uri: &str, registered: &[RedirectUri]| {
        request(&[("redirect_uri", uri)]).addressee()?.choose_redirect_uri(registered)
    };
    assert_eq!(choose("https://client.example/cb", &two).unwrap(), "https://client.example/cb");
    assert_eq!(choose("http://127.0.0.1:4711/cb", &two).unwrap(), "http://127.0.0.1:4711/cb");
    assert_eq!(choose("", &one).unwrap(), "https://client.example/cb");
    assert_eq!(choose("", &two), Err(Undeliverable::RedirectUriMissing));
    assert_eq!(choose("", &[]), Err(Undeliverable::RedirectUriMissing));
    for uri in
        ["https://client.example/cb?x", "https://client.example/cb/", "https://evil.example", "x\ny", "é"]
    {
        assert_eq!(choose(uri, &two), Err(Undeliverable::RedirectUri), "{uri}");
    }
    assert_eq!(request(&[("client_id", "")]).addressee(), Err(Undeliverable::ClientIdMissing));
    for id in ["a b", "\u{1}", "é", &"a".repeat(2001)] {
        assert_eq!(request(&[("client_id", id)]).addressee(), Err(Undeliverable::ClientId), "{id}");
    }
    // Phase 1 does not check other parameters.
    assert!(request(&[("response_type", "token"), ("code_challenge", "")]).addressee().is_ok());
}

#[test]
fn what_is_wrong_has_its_own_code() {
    use ErrorCode as E;
    let deep = format!(r#"[{{"type":"a","x":{}1{}}}]"#, "[".repeat(15), "]".repeat(15));
    let many_claims = format!(
        r#"{{"userinfo":{{{}}}}}"#,
        (0..65).map(|i| format!(r#""c{i}":null"#)).collect::<Vec<_>>().join(",")
    );
    for (name, value, code) in [
        ("response_type", "", E::InvalidRequest),
        ("response_type", "token", E::UnsupportedResponseType),
        ("response_type", "id_token", E::UnsupportedResponseType),
        ("response_type", "code id_token", E::UnsupportedResponseType),
        ("response_type", "none", E::UnsupportedResponseType),
        ("response_mode", "fragment", E::InvalidRequest),
        ("response_mode", "fragment.jwt", E::InvalidRequest),
        ("response_mode", "web_message", E::InvalidRequest),
        ("code_challenge", "", E::InvalidRequest),
        ("code_challenge", "short", E::InvalidRequest),
        ("code_challenge_method", "", E::InvalidRequest),
        ("code_challenge_method", "plain", E::InvalidRequest),
        ("scope", "open\"id", E::InvalidScope),
        ("prompt", "none login", E::InvalidRequest),
        ("prompt", "maybe", E::InvalidRequest),
        ("max_age", "-1", E::InvalidRequest),
        ("max_age", "+1", E::InvalidRequest),
        ("max_age", "1.5", E::InvalidRequest),
        ("max_age", "99999999999999999999", E::InvalidRequest),
        ("claims", "[]", E::InvalidRequest),
        ("claims", "{", E::InvalidRequest),
        ("claims", r#"{"userinfo":{},"userinfo":{}}"#, E::InvalidRequest),
        ("claims", r#"{"userinfo":[]}"#, E::InvalidRequest),
        ("claims", r#"{"userinfo":{"name":true}}"#, E::InvalidRequest),
        ("claims", r#"{"userinfo":{"name":{"essential":"yes"}}}"#, E::InvalidRequest),
        ("claims", r#"{"userinfo":{"name":{"values":"x"}}}"#, E::InvalidRequest),
        ("claims", r#"{"userinfo":{"\u0000":null}}"#, E::InvalidRequest),
        ("claims", &many_claims, E::InvalidRequest),
        ("resource", "/v1", E::InvalidTarget),
        ("resource", "https://api.example/#x", E::InvalidTarget),
        ("resource", "https://api.example/ x", E::InvalidTarget),
        ("authorization_details", "{}", E::InvalidAuthorizationDetails),
        ("authorization_details", "[]", E::InvalidAuthorizationDetails),
        ("authorization_details", "[1]", E::InvalidAuthorizationDetails),
        ("authorization_details", r#"[{"type":1}]"#, E::InvalidAuthorizationDetails),
        ("authorization_details", r#"[{"type":""}]"#, E::InvalidAuthorizationDetails),
        ("authorization_details", r#"[{"type":"a","b":"\u0000"}]"#, E::InvalidAuthorizationDetails),
        ("authorization_details", &deep, E::InvalidAuthorizationDetails),
        ("dpop_jkt", "x", E::InvalidRequest),
        ("state", "a\u{1}b", E::InvalidRequest),
        ("organization", "a\nb", E::InvalidRequest),
        ("acr_values", &"a ".repeat(17), E::InvalidRequest),
        ("request", "a.b.c", E::RequestNotSupported),
        ("request_uri", "urn:ietf:params:oauth:request_uri:x", E::RequestUriNotSupported),
    ] {
        let refused = request(&[(name, value)]).check().unwrap_err();
        assert_eq!(refused.code, code, "{name}={value}");
        assert!(refused.code.may_redirect());
        assert!(
            refused.description.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e))
        );
    }
    let refused = request(&[("code_challenge", "")]).check().unwrap_err();
    assert!(refused.description.contains("PKCE"), "{refused}");
    // An error is returned with the state and in the requested response mode, if those are valid.
    let raw = request(&[("response_mode", "form_post"), ("state", "s"), ("scope", "\"")]);
    assert_eq!((raw.error_mode(), raw.state()), (ResponseMode::FormPost, Some("s")));
    let raw = request(&[("response_mode", "fragment"), ("state", "a\u{1}b")]);
    assert_eq!((raw.error_mode(), raw.state()), (ResponseMode::Query, None));
}

#[test]
fn a_request_may_be_elsewhere() {
    let source =
        |name: &str, value: &str| encode(&[(name, value)]).source().map(|source| format!("{source:?}"));
    assert_eq!(source("request", "a.b.c").unwrap(), "Object");
    assert_eq!(source("request_uri", "urn:ietf:params:oauth:request_uri:x").unwrap(), "Pushed");
    assert_eq!(source("request_uri", "https://client.example/r#h").unwrap(), "Reference");
    assert_eq!(source("request_uri", "file:///etc/passwd").unwrap_err().code, ErrorCode::InvalidRequestUri);
    assert!(encode(&[("request", "a"), ("request_uri", "https://a.example")]).source().is_err());
}

#[test]
fn a_request_object_counts_alone() {
    let object = |value: Value| value.as_object().unwrap().clone();
    let outer = request(&[("request", "a.b.c"), ("state", "outer"), ("nonce", "outer")]);
    let inside = object(json!({
        "iss": "c1", "aud": ISSUER, "exp": 1, "client_id": "c1", "response_type": "code", "nonce": "inner", "scope": "openid",
        "max_age": 60, "claims": {"userinfo": {"name": null}}, "authorization_details": [{"type": "a"}],
    }));
    let alone = RawRequest::from_object(&inside, &outer).unwrap();
    assert!(alone.check().is_err(), "the challenge outside does not count");
    let mut inside = inside;
    for name in ["code_challenge", "code_challenge_method"] {
        inside.insert(name.to_owned(), json!(outer.get(name).unwrap()));
    }
    let whole = RawRequest::from_object(&inside, &outer).unwrap().check().unwrap();
    assert_eq!((whole.nonce.as_deref(), whole.state.as_deref()), (Some("inner"), None));
    assert_eq!((whole.max_age, whole.is_openid()), (Some(60), true));
    assert!(whole.claims.is_some() && whole.authorization_details.is_some());
    for bad in [
        json!({"client_id": "c2"}),
        json!({"response_type": "token"}),
        json!({"request": "a.b.c"}),
        json!({"request_uri": "https://client.example/r"}),
        json!({"scope": ["openid"]}),
        json!({"state": null}),
        json!({"max_age": {}}),
        json!({"nonce": 7}),
    ] {
        let refused = RawRequest::from_object(&object(bad.clone()), &outer).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidRequestObject, "{bad}");
    }
}

#[test]
fn responses_keep_the_query_and_name_the_issuer() {
    let redirect = |uri: &str, mode| match redirect_response(
        uri,
        mode,
        ISSUER,
        &[("code", "a b"), ("state", "x&y=\r\n#")],
    ) {
        AuthorizationResponse::Redirect { location } => location,
        AuthorizationResponse::FormPost { .. } => panic!("not a redirect"),
    };
    let tail = "code=a%20b&state=x%26y%3D%0D%0A%23&iss=https%3A%2F%2Fop.example";
    for (uri, expected) in [
        ("https://a.example/cb", format!("https://a.example/cb?{tail}")),
        ("https://a.example/cb?", format!("https://a.example/cb?{tail}")),
        ("https://a.example/cb?x=%20+", format!("https://a.example/cb?x=%20+&{tail}")),
        ("https://a.example/cb?x&", format!("https://a.example/cb?x&{tail}")),
        ("com.example.app:/cb", format!("com.example.app:/cb?{tail}")),
    ] {
        assert_eq!(redirect(uri, ResponseMode::Query), expected);
    }
    let signed =
        redirect_response("https://a.example/cb", ResponseMode::Jwt, ISSUER, &[("response", "a.b.c")]);
    assert!(
        signed == AuthorizationResponse::Redirect { location: "https://a.example/cb?response=a.b.c".into() }
    );
    let form =
        redirect_response("https://a.example/cb?x=1", ResponseMode::FormPost, ISSUER, &[("error", "<&\">")]);
    assert!(
        form == AuthorizationResponse::FormPost {
            action: "https://a.example/cb?x=1".into(),
            fields: vec![("error".into(), "<&\">".into()), ("iss".into(), ISSUER.into())],
        }
    );
    assert_eq!(format!("{signed:?} {form:?}"), "<redirect> <form post>");
    for mode in ResponseMode::ALL {
        assert_eq!(
            (ResponseMode::parse(mode.as_str()), serde_json::to_value(mode).unwrap()),
            (Some(*mode), json!(mode.as_str()))
        );
    }
}

proptest! {
    /// For any values, the browser stays at the redirect URI, its query is unchanged, and the client reads the values
    /// back.
    #[test]
    fn values_cannot_leave_their_parameter(
        uri in "https://client\\.example/[a-z]{0,4}(\\?[a-z]{1,3}=[a-z0-9]{0,3})?", values in prop::collection::vec((".{1,8}", ".{0,24}"), 0..4),
    ) {
        let pairs: Vec<_> = values.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let AuthorizationResponse::Redirect { location } = redirect_response(&uri, ResponseMode::Query, ISSUER, &pairs) else {
            return Err(TestCaseError::fail("not a redirect"));
        };
        prop_assert!(location.starts_with(&uri) && location.is_ascii() && !location.contains(char::is_whitespace));
        let (before, after) = (url::Url::parse(&uri).unwrap(), url::Url::parse(&location).unwrap());
        prop_assert_eq!((before.origin(), before.path(), None), (after.origin(), after.path(), after.fragment()));
        let read: Vec<_> = after.query_pairs().skip(before.query_pairs().count()).map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
        let mut sent = values.clone();
        sent.push(("iss".to_owned(), ISSUER.to_owned()));
        prop_assert_eq!(read, sent);
    }

    /// No refusal repeats input or contains a character that RFC 6749 §4.1.2.1 does not allow.
    #[test]
    fn refusals_say_nothing_the_client_wrote(index in 0..raw::NAMES.len(), value in "[ -~é\\x01]{0,10}ZQX[ -~é]{0,10}") {
        if let Err(refused) = request(&[(raw::NAMES[index], &value)]).check() {
            prop_assert!(!refused.description.contains("ZQX"));
            prop_assert!(refused.description.bytes().all(|byte| matches!(byte, 0x20..=0x21 | 0x23..=0x5b | 0x5d..=0x7e)));
        }
    }

    #[test]
    fn without_an_s256_challenge_there_is_no_request(challenge in prop::option::of("[A-Za-z0-9_-]{1,50}"), method in prop::option::of("S256|plain|s256|[^\\x00]{1,4}")) {
        let read = request(&[("code_challenge", challenge.as_deref().unwrap_or("")), ("code_challenge_method", method.as_deref().unwrap_or(""))]).check();
        prop_assert!(read.is_err() || (method.as_deref() == Some("S256") && challenge.is_some_and(|text| text.len() == 43)));
    }
}
