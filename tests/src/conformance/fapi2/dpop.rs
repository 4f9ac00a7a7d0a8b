//! DPoP: proofs at every endpoint, and everything that is none.

use super::*;
use crate::conformance::text;

struct Scene {
    app: Arc<TestApp>,
    browser: Browser,
    party: Party,
}

async fn scene() -> Scene {
    let app = app().await;
    let browser = person(&app).await;
    let party = Party::new(&app, Kind::Dpop, CALLBACK).await;
    Scene { app, browser, party }
}

impl Scene {
    fn key(&self) -> &ClientKey {
        match &self.party.holder {
            Holder::Key(key) => key,
            Holder::Certificate(_) => panic!("a key"),
        }
    }

    /// A form with these proofs.
    async fn post(
        &self,
        path: &str,
        form: &[(&str, &str)],
        key: Option<&ClientKey>,
        changes: &Value,
    ) -> Answer {
        let assertion = self.party.assertion(&self.app, &json!({}));
        let form = [form, &[("client_assertion_type", ASSERTION), ("client_assertion", &assertion)]].concat();
        let mut request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Body::from(encode(&form)))
            .unwrap();
        if let Some(key) = key {
            let proof = proof(&self.app, key, &request, None, changes);
            request.headers_mut().append("dpop", proof.parse().unwrap());
        }
        self.app.send(request).await
    }

    async fn push(
        &self,
        verifier: &str,
        more: &[(&str, &str)],
        key: Option<&ClientKey>,
        changes: &Value,
    ) -> Answer {
        let request = self.party.request(verifier, more);
        let pairs: Vec<(&str, &str)> =
            request.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        self.post("/connect/par", &pairs, key, changes).await
    }

    /// A code, from a request pushed like this.
    async fn code(&mut self, more: &[(&str, &str)], proved: bool, changes: &Value) -> (String, String) {
        let verifier = verifier();
        let pushed = self.push(&verifier, more, proved.then(|| self.key()), changes).await;
        assert_eq!(pushed.status, 201, "{}", pushed.text());
        let uri = text(&pushed.json(), "request_uri").to_owned();
        let callback = self.party.visit(&self.app, &mut self.browser, &uri, &[]).await;
        (callback["code"].clone(), verifier)
    }

    async fn redeem(&self, code: &str, verifier: &str, key: &ClientKey, changes: &Value) -> Answer {
        self.post("/connect/token", &self.party.code_form(code, verifier), Some(key), changes).await
    }

    async fn resource(&self, token: &str, changes: &Value) -> u16 {
        let mut request = Request::get("/connect/userinfo")
            .header(header::AUTHORIZATION, format!("DPoP {token}"))
            .body(Body::empty())
            .unwrap();
        let proof = proof(&self.app, self.key(), &request, Some(token), changes);
        request.headers_mut().append("dpop", proof.parse().unwrap());
        self.app.send(request).await.status.as_u16()
    }

    /// With proofs changed like this, from pushing to the resource.
    async fn works_with(mut self, changes: &Value) {
        let (code, verifier) = self.code(&[], true, changes).await;
        let tokens = self.redeem(&code, &verifier, self.key(), changes).await;
        assert_eq!(tokens.status, 200, "{}", tokens.text());
        assert_eq!(self.resource(text(&tokens.json(), "access_token"), changes).await, 200);
    }
}

#[tokio::test]
async fn fapi2_ensure_dpopproof_with_iat_10seconds_before_succeeds() {
    let scene = scene().await;
    let before = json!({"iat": now(&scene.app) - 10});
    scene.works_with(&before).await;
}

#[tokio::test]
async fn fapi2_ensure_dpopproof_with_iat_10seconds_after_succeeds() {
    let scene = scene().await;
    let after = json!({"iat": now(&scene.app) + 10});
    scene.works_with(&after).await;
}

/// Neither claim means anything in a proof (RFC 9449 §4.2); good ones do no harm.
#[tokio::test]
async fn fapi2_check_dpop_proof_nbf_exp() {
    let scene = scene().await;
    let both = json!({"nbf": now(&scene.app) - 10, "exp": now(&scene.app) + 60});
    scene.works_with(&both).await;
}

#[tokio::test]
async fn fapi2_ensure_mismatched_dpop_jkt_fails() {
    let scene = scene().await;
    let other = ClientKey::new().thumbprint();
    let answer = scene.push(&verifier(), &[("dpop_jkt", &other)], Some(scene.key()), &json!({})).await;
    refused(&answer, &["invalid_dpop_proof", "invalid_request"], "another key named");
}

#[tokio::test]
async fn fapi2_ensure_token_endpoint_fails_with_mismatched_dpop_proof_jkt() {
    let mut scene = scene().await;
    let (code, verifier) = scene.code(&[], true, &json!({})).await;
    let answer = scene.redeem(&code, &verifier, &ClientKey::new(), &json!({})).await;
    refused(&answer, &["invalid_dpop_proof", "invalid_grant"], "another key");
}

#[tokio::test]
async fn fapi2_ensure_token_endpoint_fails_with_mismatched_dpop_jkt() {
    let mut scene = scene().await;
    let jkt = scene.key().thumbprint();
    let (code, verifier) = scene.code(&[("dpop_jkt", &jkt)], false, &json!({})).await;
    let answer = scene.redeem(&code, &verifier, &ClientKey::new(), &json!({})).await;
    refused(&answer, &["invalid_dpop_proof", "invalid_grant"], "another key");
}

#[tokio::test]
async fn fapi2_ensure_dpopproof_at_par_endpoint_binding_success() {
    let mut scene = scene().await;
    let (code, verifier) = scene.code(&[], true, &json!({})).await;
    assert_eq!(scene.redeem(&code, &verifier, scene.key(), &json!({})).await.status, 200);
}

#[tokio::test]
async fn fapi2_ensure_dpop_auth_code_binding_success() {
    let mut scene = scene().await;
    let jkt = scene.key().thumbprint();
    for proved in [true, false] {
        let (code, verifier) = scene.code(&[("dpop_jkt", &jkt)], proved, &json!({})).await;
        assert_eq!(scene.redeem(&code, &verifier, scene.key(), &json!({})).await.status, 200);
    }
}

#[tokio::test]
async fn fapi2_dpop_negative_tests() {
    let mut scene = scene().await;
    // One key for two algorithms, only one of which FAPI 2.0 allows.
    let key = ClientKey::of(Algorithm::Ps256);
    scene.party.holder = Holder::Key(Box::new(key));
    let tokens = scene.party.tokens(&scene.app, &mut scene.browser, &[]).await;
    let token = text(&tokens, "access_token").to_owned();
    let (app, key) = (&scene.app, scene.key());
    let uri = format!("{ISSUER}/connect/userinfo");
    let good = json!({"htm": "GET", "htu": uri, "iat": now(app), "ath": token_hash(&token)});
    let mut jwk = key.jwk();
    for name in ["kid", "alg", "use"] {
        jwk.as_object_mut().unwrap().remove(name);
    }
    let header = json!({"typ": "dpop+jwt", "alg": "PS256", "jwk": jwk});
    let fresh = |changes: &Value| {
        let claims =
            changed(good.clone(), &json!({"jti": verifier(), "nonce": app.app.secrets.nonce(now(app))}));
        changed(claims, changes)
    };
    let mut private = jwk.clone();
    private["d"] = json!("AQAB");
    let same = json!({});
    let sign = |head: &Value, claims: &Value| key.sign(&changed(header.clone(), head), &fresh(claims));
    let once = sign(&same, &same);
    let unsigned = |proof: &str| format!("{}.", proof.rsplit_once('.').unwrap().0);
    let swapped = {
        let (one, two) = (sign(&same, &same), sign(&same, &same));
        format!("{}.{}", one.rsplit_once('.').unwrap().0, two.rsplit_once('.').unwrap().1)
    };
    let send = async |scheme: &str, proofs: &[&str]| {
        let mut request =
            Request::get("/connect/userinfo").header(header::AUTHORIZATION, format!("{scheme} {token}"));
        for proof in proofs {
            request = request.header("dpop", *proof);
        }
        scene.app.send(request.body(Body::empty()).unwrap()).await.status.as_u16()
    };
    assert_eq!(send("DPoP", &[&once]).await, 200);
    for (what, proof) in [
        ("the same again", once),
        ("no typ", sign(&json!({"typ": null}), &same)),
        ("another typ", sign(&json!({"typ": "JWT"}), &same)),
        ("no alg", sign(&json!({"alg": null}), &same)),
        ("none", unsigned(&sign(&json!({"alg": "none"}), &same))),
        ("HS256", sign(&json!({"alg": "HS256"}), &same)),
        (
            "RS256",
            key.speaking(Algorithm::Rs256)
                .sign(&changed(header.clone(), &json!({"alg": "RS256"})), &fresh(&same)),
        ),
        ("no jwk", sign(&json!({"jwk": null}), &same)),
        ("a private jwk", sign(&json!({"jwk": private}), &same)),
        ("another jwk", sign(&json!({"jwk": ClientKey::of(Algorithm::Ps256).jwk()}), &same)),
        ("a broken signature", swapped),
        ("no signature", unsigned(&sign(&same, &same))),
        ("no jti", sign(&same, &json!({"jti": null}))),
        ("no htm", sign(&same, &json!({"htm": null}))),
        ("another method", sign(&same, &json!({"htm": "POST"}))),
        ("no htu", sign(&same, &json!({"htu": null}))),
        ("another address", sign(&same, &json!({"htu": format!("{ISSUER}/connect/token")}))),
        ("no iat", sign(&same, &json!({"iat": null}))),
        ("an old one", sign(&same, &json!({"iat": now(app) - 3_600}))),
        ("a future one", sign(&same, &json!({"iat": now(app) + 3_600}))),
        ("no ath", sign(&same, &json!({"ath": null}))),
        ("another ath", sign(&same, &json!({"ath": token_hash("another")}))),
    ] {
        assert!(matches!(send("DPoP", &[&proof]).await, 400 | 401), "{what}");
    }
    let two = [sign(&same, &same), sign(&same, &same)];
    assert!(matches!(send("DPoP", &[&two[0], &two[1]]).await, 400 | 401), "two proofs");
    assert!(matches!(send("DPoP", &[]).await, 400 | 401), "no proof");
    assert_eq!(send("Bearer", &[]).await, 401, "as a bearer token");
    assert_eq!(send("Bearer", &[&sign(&same, &same)]).await, 401, "as a bearer token with a proof");
}
