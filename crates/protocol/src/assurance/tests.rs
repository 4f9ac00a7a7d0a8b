use proptest::prelude::*;

use super::*;

const EPOCH: i64 = 1_800_000_000;

fn at(seconds: i64) -> OffsetDateTime {
    OffsetDateTime::from_unix_timestamp(EPOCH + seconds).unwrap()
}
fn proof(method: Method, seconds: i64) -> Proof {
    Proof { method, credential: None, at: at(seconds), user_verified: method == Method::Passkey }
}
fn unverified(seconds: i64) -> Proof {
    Proof { user_verified: false, ..proof(Method::Passkey, seconds) }
}

#[test]
fn names_round_trip() {
    for level in Level::ALL {
        assert_eq!(Level::parse_acr(level.acr()), Some(level));
        assert_eq!(serde_json::to_value(level).unwrap(), level.as_str());
    }
    assert_eq!(Level::parse_acr("aal1"), Some(Level::Aal1));
    assert_eq!(Level::parse_acr("aal2"), Some(Level::Aal2));
    for unknown in ["", "1", "AAL2", "none", "aal3", "http://idmanagement.gov/ns/assurance/aal/3"] {
        assert_eq!(Level::parse_acr(unknown), None, "{unknown}");
    }
    for method in Method::ALL {
        assert_eq!(serde_json::to_value(method).unwrap(), method.as_str());
    }
    let stored = serde_json::to_string(&proof(Method::Totp, 5)).unwrap();
    assert_eq!(stored, r#"{"method":"totp","credential":null,"at":1800000005,"user_verified":false}"#);
    assert_eq!(serde_json::from_str::<Proof>(&stored).unwrap(), proof(Method::Totp, 5));
}

/// Every pair of methods, passkeys with and without user verification.
#[test]
fn every_pair_is_worth_what_the_table_says() {
    use Level::{Aal1, Aal2, None};
    // passkey, passkey without UV, password, TOTP, recovery code, SMS, e-mail, federated
    let kinds = [
        proof(Method::Passkey, 0),
        unverified(0),
        proof(Method::Password, 0),
        proof(Method::Totp, 0),
        proof(Method::RecoveryCode, 0),
        proof(Method::SmsCode, 0),
        proof(Method::Email, 0),
        proof(Method::Federated, 0),
    ];
    let table = [
        [Aal2, Aal2, Aal2, Aal2, Aal2, Aal2, Aal2, Aal2],
        [Aal2, Aal1, Aal2, Aal1, Aal1, Aal1, Aal1, Aal1],
        [Aal2, Aal2, Aal1, Aal2, Aal2, Aal2, Aal1, Aal1],
        [Aal2, Aal1, Aal2, Aal1, Aal1, Aal1, Aal1, Aal1],
        [Aal2, Aal1, Aal2, Aal1, Aal1, Aal1, Aal1, Aal1],
        [Aal2, Aal1, Aal2, Aal1, Aal1, Aal1, Aal1, Aal1],
        [Aal2, Aal1, Aal1, Aal1, Aal1, Aal1, None, Aal1],
        [Aal2, Aal1, Aal1, Aal1, Aal1, Aal1, Aal1, Aal1],
    ];
    assert_eq!(event_level(&[]), None);
    for (row, one) in table.iter().zip(&kinds) {
        for (expected, two) in row.iter().zip(&kinds) {
            let pair = [one.clone(), two.clone()];
            assert_eq!(event_level(&pair), *expected, "{one:?} {two:?}");
            assert_eq!(effective_level(&pair, at(0), at(0), &Decay::default()), *expected);
            assert_eq!(amr(&pair).contains(&"mfa"), *expected == Aal2);
            if one == two {
                assert_eq!(event_level(&pair[..1]), *expected, "{one:?} alone");
            }
        }
    }
}

#[test]
fn amr_says_what_happened() {
    for (proofs, expected) in [
        (vec![], vec![]),
        (vec![proof(Method::Passkey, 0)], vec!["mfa", "swk", "user"]),
        (vec![unverified(0)], vec!["swk", "user"]),
        (vec![proof(Method::Totp, 0), proof(Method::Password, 1)], vec!["mfa", "otp", "pwd"]),
        (vec![proof(Method::Password, 0), proof(Method::SmsCode, 1)], vec!["mfa", "pwd", "sms"]),
        (vec![proof(Method::Email, 0)], vec!["email", "otp"]),
        (vec![proof(Method::Email, 0), proof(Method::Totp, 0)], vec!["email", "otp"]),
    ] {
        assert_eq!(amr(&proofs), expected);
    }
}

#[test]
fn aal2_ends_after_a_day_or_an_idle_hour() {
    let (day, hour, decay) = (86_400, 3_600, Decay::default());
    let pair = [proof(Method::Password, 0), proof(Method::Totp, hour)];
    let level = |used, now| effective_level(&pair, at(used), at(now), &decay);
    assert_eq!(level(day, day), Level::Aal2);
    assert_eq!(level(day + 1, day + 1), Level::Aal1);
    assert_eq!(level(2 * hour, 3 * hour), Level::Aal2);
    assert_eq!(level(2 * hour, 3 * hour + 1), Level::Aal1);
    assert_eq!(level(30 * day, 30 * day), Level::Aal1);
    let mailbox = [proof(Method::Email, 0)];
    assert_eq!(effective_level(&mailbox, at(0), at(0), &decay), Level::None);
}

#[test]
fn auth_time_is_the_older_half_of_the_freshest_pair() {
    let decay = Decay::default();
    let proofs = [
        proof(Method::Password, 0),
        proof(Method::Totp, 10),
        proof(Method::Password, 100),
        proof(Method::RecoveryCode, 60),
        proof(Method::Email, 200),
    ];
    let time = |level, now| auth_time(&proofs, level, at(now), &decay);
    assert_eq!(time(Level::Aal2, 300), Some(at(60)));
    assert_eq!(time(Level::Aal1, 300), Some(at(100)));
    assert_eq!(time(Level::None, 300), Some(at(200)));
    assert_eq!(time(Level::Aal2, 86_461), None);
    assert_eq!(time(Level::Aal1, 86_461), Some(at(100)));
    assert_eq!(auth_time(&[], Level::None, at(0), &decay), None);

    let mut with_passkey = proofs.to_vec();
    with_passkey.push(proof(Method::Passkey, 50));
    assert_eq!(auth_time(&with_passkey, Level::Aal2, at(300), &decay), Some(at(60)));
    with_passkey.push(proof(Method::Passkey, 70));
    assert_eq!(auth_time(&with_passkey, Level::Aal2, at(300), &decay), Some(at(70)));
}

#[test]
fn a_stale_totp_and_password_do_not_pair_with_new_ones() {
    let decay = Decay::default();
    let ten_days = 864_000;
    let proofs = [proof(Method::Password, 0), proof(Method::Totp, ten_days)];
    assert_eq!(effective_level(&proofs, at(ten_days), at(ten_days), &decay), Level::Aal1);
    assert_eq!(auth_time(&proofs, Level::Aal2, at(ten_days), &decay), None);
    assert!(helps(&proofs, Level::Aal2, Method::Password, at(ten_days), &decay));
    assert!(!helps(&proofs, Level::Aal2, Method::SmsCode, at(ten_days), &decay));
}

#[test]
fn only_what_brings_the_level_nearer_is_asked_for() {
    use Method::{Email, Federated, Passkey, Password, RecoveryCode, SmsCode, Totp};
    let decay = Decay::default();
    let useful = |proofs: &[Proof], wanted| {
        Method::ALL
            .into_iter()
            .filter(|method| helps(proofs, wanted, *method, at(60), &decay))
            .collect::<Vec<_>>()
    };
    let all_but_mailbox = vec![Passkey, Password, Totp, RecoveryCode, SmsCode];
    assert_eq!(useful(&[], Level::None), vec![]);
    assert_eq!(useful(&[proof(Email, 0)], Level::Aal1), [all_but_mailbox.clone(), vec![Federated]].concat());
    assert_eq!(useful(&[proof(Password, 0)], Level::Aal1), vec![]);
    assert_eq!(useful(&[proof(Email, 0)], Level::Aal2), all_but_mailbox);
    assert_eq!(useful(&[proof(Password, 0)], Level::Aal2), vec![Passkey, Totp, RecoveryCode, SmsCode]);
    assert_eq!(useful(&[proof(Totp, 0)], Level::Aal2), vec![Passkey, Password]);
    assert_eq!(useful(&[unverified(0)], Level::Aal2), vec![Passkey, Password]);
    // Stale proofs need both factors again; idle ones need one.
    let (stale, idle) = (-90_000, -7_200);
    assert_eq!(useful(&[proof(Password, stale), proof(Totp, stale)], Level::Aal2), all_but_mailbox);
    assert_eq!(useful(&[proof(Password, idle), proof(Totp, idle)], Level::Aal2), all_but_mailbox);
}

#[test]
fn fresh_means_a_real_factor_just_now() {
    let ten = Duration::minutes(10);
    assert!(is_fresh(&[proof(Method::Password, 0)], ten, at(599)));
    assert!(!is_fresh(&[proof(Method::Password, 0)], ten, at(600)));
    assert!(!is_fresh(&[proof(Method::Email, 0)], ten, at(0)));
    // An existing proof never satisfies `max_age=0` (OpenID Connect Core §3.1.2.1).
    assert!(!is_fresh(&[proof(Method::Passkey, 5)], Duration::ZERO, at(0)));
}

fn any_proof() -> impl Strategy<Value = Proof> {
    (prop::sample::select(Method::ALL.to_vec()), -200_000_i64..10, any::<bool>()).prop_map(
        |(method, seconds, verified)| Proof {
            method,
            credential: None,
            at: at(seconds),
            user_verified: verified && method == Method::Passkey,
        },
    )
}
fn any_proofs() -> impl Strategy<Value = Vec<Proof>> {
    prop::collection::vec(any_proof(), 0..6)
}

proptest! {
    #[test]
    fn decay_only_lowers(proofs in any_proofs(), used in -8_000_i64..0, wait in 0_i64..100_000) {
        let decay = Decay::default();
        let now = effective_level(&proofs, at(used), at(0), &decay);
        let later = effective_level(&proofs, at(used), at(wait), &decay);
        prop_assert!(now <= event_level(&proofs));
        prop_assert!(later <= now);
        // AAL1 does not decay.
        prop_assert_eq!(later == Level::None, event_level(&proofs) == Level::None);
    }

    #[test]
    fn a_proof_never_lowers(proofs in any_proofs(), more in any_proof(), used in -8_000_i64..0) {
        let decay = Decay::default();
        let before = (event_level(&proofs), effective_level(&proofs, at(used), at(0), &decay));
        let mut after = proofs.clone();
        after.push(more);
        prop_assert!(event_level(&after) >= before.0);
        prop_assert!(effective_level(&after, at(used), at(0), &decay) >= before.1);
        for level in Level::ALL {
            prop_assert!(auth_time(&after, level, at(0), &decay) >= auth_time(&proofs, level, at(0), &decay));
        }
    }

    #[test]
    fn order_does_not_matter(proofs in any_proofs()) {
        let reversed: Vec<_> = proofs.iter().rev().cloned().collect();
        prop_assert_eq!(event_level(&proofs), event_level(&reversed));
        prop_assert_eq!(amr(&proofs), amr(&reversed));
    }

    /// A relying party may take `auth_time` as a lower bound: it exists exactly when the level is reached, is the
    /// time of a proof, and is never newer for a higher level.
    #[test]
    fn auth_time_is_honest(proofs in any_proofs()) {
        let decay = Decay::default();
        let level = effective_level(&proofs, at(0), at(0), &decay);
        let newest = proofs.iter().map(|proof| proof.at).max();
        let times = Level::ALL.map(|level| auth_time(&proofs, level, at(0), &decay));
        for (asked, time) in Level::ALL.into_iter().zip(times) {
            prop_assert_eq!(time.is_some(), asked <= level && !proofs.is_empty());
            prop_assert!(time <= newest);
            prop_assert!(time.is_none_or(|time| proofs.iter().any(|proof| proof.at == time)));
        }
        prop_assert!(times[2] <= times[1] && times[1] <= times[0]);
    }

    /// Every method that raises the level is offered, and proving all offered methods reaches the level. The word of
    /// another server is offered for AAL1 alone, because it does not lead any further.
    #[test]
    fn help_is_complete_and_leads_there(proofs in any_proofs(), wanted in prop::sample::select(Level::ALL.to_vec())) {
        let decay = Decay::default();
        let level = |proofs: &[Proof]| effective_level(proofs, at(0), at(0), &decay);
        let before = level(&proofs);
        for method in Method::ALL {
            let mut after = proofs.clone();
            after.push(proof(method, 0));
            let leads_on = method != Method::Federated || wanted == Level::Aal1;
            if leads_on && before < wanted && level(&after) > before {
                prop_assert!(helps(&proofs, wanted, method, at(0), &decay));
            }
        }
        let mut session = proofs;
        for method in [Method::Totp, Method::Password] {
            if level(&session) < wanted && helps(&session, wanted, method, at(0), &decay) {
                session.push(proof(method, 0));
            }
        }
        prop_assert!(level(&session) >= wanted);
    }
}

#[test]
fn the_word_of_another_server_is_never_fresh_and_never_half_of_a_pair() {
    let now = at(1);
    let federated = [proof(Method::Federated, 1)];
    assert!(!is_fresh(&federated, Duration::minutes(10), now));
    assert!(!helps(&[proof(Method::Password, 0)], Level::Aal2, Method::Federated, now, &Decay::default()));
    assert_eq!(auth_time(&federated, Level::Aal1, now, &Decay::default()), Some(at(1)));
    assert_eq!(amr(&federated), ["fed"]);
}

#[test]
fn a_directorys_proof_is_one_in_its_organization_alone_and_does_not_read_as_a_proof() {
    let [here, there] = [1, 2].map(|it| OrganizationId::from(uuid::Uuid::from_u128(it)));
    let proved = proof(Method::Federated, 0);
    let directory = DirectoryProof::new(here, proved.clone(), 1, None);
    assert_eq!(directory.within(here), Some(&proved));
    assert_eq!(directory.within(there), None);
    let stored = serde_json::to_value(&directory).unwrap();
    assert!(serde_json::from_value::<Proof>(stored.clone()).is_err());
    assert_eq!(serde_json::from_value::<DirectoryProof>(stored).unwrap(), directory);
    assert!(serde_json::from_value::<DirectoryProof>(serde_json::to_value(&proved).unwrap()).is_err());
}
