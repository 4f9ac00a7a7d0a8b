#[path = "../../../../../testkit/src/authenticator.rs"]
mod authenticator;

use authenticator::{Algorithm, VirtualAuthenticator};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::{PasskeyError, RelyingParty, StoredPasskey, Verified};

const ORIGIN: &str = "https://id.example.test";
const HANDLE: [u8; 32] = [7; 32];

fn party() -> RelyingParty {
    let related = ["https://login.example.net".to_owned(), "android:apk-key-hash:Zm9vQmFy_-A".to_owned()];
    RelyingParty::new(ORIGIN, Some("example.test"), &related).unwrap()
}

fn device() -> VirtualAuthenticator {
    VirtualAuthenticator::new(ORIGIN, "example.test")
}

fn register(
    device: &mut VirtualAuthenticator,
    exclude: &[StoredPasskey],
    conditional: bool,
) -> Result<StoredPasskey, PasskeyError> {
    let (options, state) =
        party().begin_registration(&HANDLE, "ana@example.test", "Ana", exclude, conditional)?;
    party().finish_registration(&state, &device.register(&options))
}

fn sign_in(device: &mut VirtualAuthenticator, stored: &StoredPasskey) -> Result<Verified, PasskeyError> {
    let (options, state) = party().begin_authentication()?;
    party().finish_authentication(&state, &device.authenticate(&options), stored)
}

fn refused<T>(result: Result<T, PasskeyError>) -> &'static str {
    match result.err() {
        Some(PasskeyError::Refused(why)) => why,
        Some(PasskeyError::Malformed) => "malformed",
        Some(PasskeyError::Library(_)) => "library",
        None => "accepted",
    }
}

/// Changes bytes inside a base64url member of `response.response`.
fn tampered(response: &Value, member: &str, change: impl FnOnce(&mut Vec<u8>)) -> Value {
    let mut response = response.clone();
    let mut bytes = URL_SAFE_NO_PAD.decode(response["response"][member].as_str().unwrap()).unwrap();
    change(&mut bytes);
    response["response"][member] = json!(URL_SAFE_NO_PAD.encode(bytes));
    response
}

type Knob = (&'static str, fn(&mut VirtualAuthenticator));

const LIES: [Knob; 8] = [
    ("user_verification", |device| device.user_verification = false),
    ("user_presence", |device| device.user_presence = false),
    ("origin", |device| device.origin = "https://evil.test".into()),
    ("origin", |device| device.origin = "https://sub.id.example.test".into()),
    ("origin", |device| device.origin = "https://id.example.test:8443".into()),
    ("origin", |device| device.origin = "http://id.example.test".into()),
    ("rp_id", |device| device.rp_id = "id.example.test".into()),
    ("cross_origin", |device| device.cross_origin = true),
];

#[test]
fn options_ask_for_a_discoverable_verified_passkey() {
    let known = register(&mut device(), &[], false).unwrap();
    let (options, _) = party().begin_registration(&HANDLE, "ana@example.test", "", &[known], false).unwrap();
    assert_eq!(options["rp"]["id"], "example.test");
    assert_eq!(options["user"]["id"], URL_SAFE_NO_PAD.encode(HANDLE));
    assert_eq!(options["user"]["displayName"], "ana@example.test");
    assert_eq!(options["attestation"], "none");
    assert_eq!(options["timeout"], 300_000);
    assert_eq!(options["extensions"], json!({"credProps": true}));
    assert_eq!(
        options["authenticatorSelection"],
        json!({"residentKey": "required", "requireResidentKey": true, "userVerification": "required"})
    );
    let algorithms: Vec<_> =
        options["pubKeyCredParams"].as_array().unwrap().iter().map(|one| one["alg"].clone()).collect();
    assert_eq!(algorithms, [-7, -257]);
    assert_eq!(options["excludeCredentials"][0]["transports"], json!(["internal", "hybrid"]));
    assert_eq!(URL_SAFE_NO_PAD.decode(options["challenge"].as_str().unwrap()).unwrap().len(), 32);

    let (conditional, _) = party().begin_registration(&HANDLE, "ana", "Ana", &[], true).unwrap();
    assert_eq!(conditional["authenticatorSelection"]["userVerification"], "preferred");
    assert_eq!(conditional["authenticatorSelection"]["residentKey"], "required");

    let (options, _) = party().begin_authentication().unwrap();
    assert_eq!(options["rpId"], "example.test");
    assert_eq!(options["allowCredentials"], json!([]));
    assert_eq!(options["userVerification"], "required");
    assert!(options.get("mediation").is_none() && options.get("publicKey").is_none());
}

#[test]
fn a_passkey_signs_its_owner_in() {
    for algorithm in [Algorithm::Es256, Algorithm::Rs256] {
        let mut device = device();
        device.algorithm = algorithm;
        let stored = register(&mut device, &[], false).unwrap();
        assert_eq!(stored.credential_id(), device.credential_ids()[0]);
        assert_eq!(stored.user_handle(), HANDLE);
        assert_eq!(stored.aaguid().as_bytes(), &[0xaa; 16]);
        assert_eq!(stored.transports(), ["internal", "hybrid"]);
        assert!(stored.user_verified() && stored.backup_eligible() && stored.backup_state());

        // As it is read from the database.
        let stored: StoredPasskey = serde_json::from_str(&serde_json::to_string(&stored).unwrap()).unwrap();
        for origin in [ORIGIN, "https://login.example.net", "android:apk-key-hash:Zm9vQmFy_-A"] {
            device.origin = origin.into();
            let verified = sign_in(&mut device, &stored).unwrap();
            assert!(verified.user_verified && verified.backup_state && !verified.counter_regressed);
            assert_eq!(verified.updated, stored);
        }
        device.backup_state = false;
        assert!(!sign_in(&mut device, &stored).unwrap().updated.backup_state());
    }
}

#[test]
fn lies_are_refused_at_registration_and_at_sign_in() {
    for (why, lie) in LIES {
        let mut liar = device();
        lie(&mut liar);
        assert_eq!(refused(register(&mut liar, &[], false)), why);
        let mut honest = device();
        let stored = register(&mut honest, &[], false).unwrap();
        lie(&mut honest);
        assert_eq!(refused(sign_in(&mut honest, &stored)), why);
    }
}

#[test]
fn a_passkey_of_one_device_never_becomes_a_synced_one() {
    let mut device = device();
    (device.backup_eligible, device.backup_state) = (false, false);
    let stored = register(&mut device, &[], false).unwrap();
    assert!(sign_in(&mut device, &stored).is_ok());
    device.backup_eligible = true;
    assert_eq!(refused(sign_in(&mut device, &stored)), "backup_eligibility");
    (device.backup_eligible, device.backup_state) = (false, true);
    assert_eq!(refused(sign_in(&mut device, &stored)), "backup_state");
    assert_eq!(refused(register(&mut device, &[], false)), "backup_state");

    let mut synced = self::device();
    let stored = register(&mut synced, &[], false).unwrap();
    (synced.backup_eligible, synced.backup_state) = (false, false);
    assert_eq!(refused(sign_in(&mut synced, &stored)), "backup_eligibility");
}

#[test]
fn a_response_answers_one_challenge_of_one_ceremony() {
    let mut device = device();
    let (options, state) = party().begin_registration(&HANDLE, "ana", "Ana", &[], false).unwrap();
    let (_, other) = party().begin_registration(&HANDLE, "ana", "Ana", &[], false).unwrap();
    let created = device.register(&options);
    assert_eq!(refused(party().finish_registration(&other, &created)), "challenge");
    let stored = party().finish_registration(&state, &created).unwrap();

    let (options, state_in) = party().begin_authentication().unwrap();
    let (_, other) = party().begin_authentication().unwrap();
    let got = device.authenticate(&options);
    assert_eq!(refused(party().finish_authentication(&other, &got, &stored)), "challenge");
    assert!(party().finish_authentication(&state_in, &got, &stored).is_ok());
    // The state and the response of one ceremony are not accepted in the other.
    assert_eq!(refused(party().finish_authentication(&state, &got, &stored)), "library");
    assert_eq!(refused(party().finish_registration(&state_in, &created)), "library");
    assert_eq!(refused(party().finish_authentication(&state_in, &created, &stored)), "malformed");
    let renamed = tampered(&got, "clientDataJSON", |bytes| {
        let text = String::from_utf8(bytes.clone()).unwrap().replace("webauthn.get", "webauthn.create");
        *bytes = text.into_bytes();
    });
    assert_eq!(refused(party().finish_authentication(&state_in, &renamed, &stored)), "ceremony");
}

#[test]
fn a_passkey_speaks_for_itself_and_its_owner_alone() {
    let mut device = device();
    let first = register(&mut device, &[], false).unwrap();
    let second = register(&mut device, std::slice::from_ref(&first), false).unwrap();
    assert_eq!(refused(sign_in(&mut device, &first)), "unknown_credential");

    let (options, state) = party().begin_authentication().unwrap();
    let mut got = device.authenticate(&options);
    let named = RelyingParty::identify(&got).unwrap();
    assert_eq!((named.credential_id.as_slice(), named.user_handle), (second.credential_id(), HANDLE));
    // Another key with the same id.
    let mut forged = serde_json::to_value(&second).unwrap();
    forged["public_key"] = serde_json::to_value(&first).unwrap()["public_key"].clone();
    let forged = serde_json::from_value(forged).unwrap();
    assert_eq!(refused(party().finish_authentication(&state, &got, &forged)), "signature");
    let flipped = tampered(&got, "authenticatorData", |bytes| bytes[36] ^= 1);
    assert_eq!(refused(party().finish_authentication(&state, &flipped, &second)), "signature");
    got["response"]["userHandle"] = json!(URL_SAFE_NO_PAD.encode([8; 32]));
    assert_eq!(refused(party().finish_authentication(&state, &got, &second)), "user_handle");
}

#[test]
fn what_was_not_offered_is_refused() {
    let mut device = device();
    let known = register(&mut device, &[], false).unwrap();
    device.next_id = Some(known.credential_id().to_vec());
    assert_eq!(refused(register(&mut device, &[known], false)), "excluded");
    device.algorithm = Algorithm::EdDsa;
    assert_eq!(refused(register(&mut device, &[], false)), "algorithm");
    device.algorithm = Algorithm::Es256;
    device.resident = false;
    assert_eq!(refused(register(&mut device, &[], false)), "not_discoverable");
}

#[test]
fn only_a_conditional_registration_may_lack_presence_and_verification() {
    let mut device = device();
    (device.user_presence, device.user_verification) = (false, false);
    assert_eq!(refused(register(&mut device, &[], false)), "user_presence");
    let stored = register(&mut device, &[], true).unwrap();
    assert!(!stored.user_verified());
    // Signing in is as strict as otherwise, and the first verified sign-in is stored.
    assert_eq!(refused(sign_in(&mut device, &stored)), "user_presence");
    device.user_presence = true;
    assert_eq!(refused(sign_in(&mut device, &stored)), "user_verification");
    device.user_verification = true;
    assert!(sign_in(&mut device, &stored).unwrap().updated.user_verified());
    // The rest of a conditional registration is checked as in any other.
    for (why, lie) in &LIES[2..] {
        let mut liar = self::device();
        lie(&mut liar);
        assert_eq!(refused(register(&mut liar, &[], true)), *why);
    }
}

#[test]
fn a_counter_that_goes_back_is_reported() {
    let mut device = device();
    device.counter = 5;
    let stored = register(&mut device, &[], false).unwrap();
    assert_eq!(stored.counter(), 5);
    let next = sign_in(&mut device, &stored).unwrap();
    assert_eq!((next.counter, next.counter_regressed, next.updated.counter()), (6, false, 6));
    for back in [6, 2, 0] {
        device.counter = back;
        let again = sign_in(&mut device, &next.updated).unwrap();
        assert_eq!((again.counter, again.counter_regressed, again.updated.counter()), (back, true, 6));
    }
}

#[test]
fn malformed_responses_are_told_apart_from_lies() {
    let mut device = device();
    let (options, state) = party().begin_registration(&HANDLE, "ana", "Ana", &[], false).unwrap();
    let created = device.register(&options);
    let stored = party().finish_registration(&state, &created).unwrap();
    let (options, state_in) = party().begin_authentication().unwrap();
    let got = device.authenticate(&options);

    for (member, value) in [
        ("id", json!("AAAA")),
        ("rawId", json!("not base64!")),
        ("type", json!("password")),
        ("response", json!(null)),
    ] {
        for (response, registers) in [(&created, true), (&got, false)] {
            let mut response = response.clone();
            response[member] = value.clone();
            let why = if registers {
                refused(party().finish_registration(&state, &response))
            } else {
                refused(party().finish_authentication(&state_in, &response, &stored))
            };
            assert_eq!(why, "malformed", "{member}");
        }
    }
    for handle in [json!(null), json!(""), json!(URL_SAFE_NO_PAD.encode([7; 31]))] {
        let mut response = got.clone();
        response["response"]["userHandle"] = handle;
        assert_eq!(refused(RelyingParty::identify(&response)), "malformed");
    }
    let longer = tampered(&got, "authenticatorData", |bytes| bytes.push(0));
    assert_eq!(refused(party().finish_authentication(&state_in, &longer, &stored)), "malformed");
    // No prefix of an attestation object is valid, and none makes the parser panic.
    let length =
        URL_SAFE_NO_PAD.decode(created["response"]["attestationObject"].as_str().unwrap()).unwrap().len();
    for cut in 0..length {
        let short = tampered(&created, "attestationObject", |bytes| bytes.truncate(cut));
        assert_eq!(refused(party().finish_registration(&state, &short)), "malformed", "{cut}");
    }
}

#[test]
fn the_rp_id_is_the_host_or_a_parent_of_it() {
    let new = |base: &str, id: Option<&str>| RelyingParty::new(base, id, &[]);
    assert_eq!(new(ORIGIN, None).unwrap().id(), "id.example.test");
    assert_eq!(new(ORIGIN, Some("example.test")).unwrap().id(), "example.test");
    assert_eq!(new("http://localhost:8080/", None).unwrap().id(), "localhost");
    assert_eq!(new("http://127.0.0.1:8080", None).unwrap().id(), "127.0.0.1");
    for (base, id) in [
        (ORIGIN, Some("test")),
        (ORIGIN, Some("ample.test")),
        (ORIGIN, Some("other.test")),
        (ORIGIN, Some("")),
        (ORIGIN, Some("www.id.example.test")),
        ("https://192.0.2.1", None),
        ("http://127.0.0.1:8080", Some("0.0.1")),
        ("http://id.example.test", None),
        ("https://id.example.test/path", None),
        ("nonsense", None),
    ] {
        assert!(new(base, id).is_err(), "{base} {id:?}");
    }
    for related in ["android:apk-key-hash:", "http://example.net", "https://example.net/x", "ios:bundle"] {
        assert!(RelyingParty::new(ORIGIN, None, &[related.to_owned()]).is_err(), "{related}");
    }
}

#[test]
fn nothing_of_a_person_is_printed() {
    let stored = register(&mut device(), &[], false).unwrap();
    let printed = format!("{stored:?}");
    assert!(
        printed.contains("counter") && !printed.contains("user_handle") && !printed.contains("credential")
    );
}
