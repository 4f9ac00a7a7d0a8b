use std::collections::HashSet;

use super::*;
use crate::password::{PasswordPolicy, PasswordRefused, check};

#[test]
fn the_list_is_long_and_small() {
    let mut entries = HashSet::new();
    generate(&mut |entry| {
        entries.insert(entry);
    });
    let of_length = |min| entries.iter().filter(|entry| entry.chars().count() >= min).count();
    // ASVS 6.2.4 requires 3,000 passwords that satisfy the policy, for each minimum length.
    assert!(of_length(15) >= 20_000, "{}", of_length(15));
    assert_eq!(HASHES.len(), of_length(MIN), "two entries share a hash");
    assert!(size_of_val(&**HASHES) < 2_000_000, "{}", HASHES.len());
    for entry in &entries {
        assert_eq!(**entry, *super::super::fold(entry), "can never match");
        assert_eq!(contains(entry), entry.chars().count() >= MIN);
    }
    let policy = PasswordPolicy::default();
    for entry in entries.iter().filter(|entry| entry.chars().count() >= policy.min) {
        assert_eq!(check(&policy, entry, &[]).err(), Some(PasswordRefused::Common), "{entry}");
    }
}

#[test]
fn the_obvious_is_refused_in_any_case() {
    for obvious in [
        "passwordpassword",
        "PasswordPassword",
        "password1234567",
        "password12345678",
        "Password!!!!!!!",
        "passwordpassword1",
        "passwordpassword123!",
        "P@ssw0rdP@ssw0rd",
        "thisismypassword",
        "ThisIsMyPassword1!",
        "123456789012345",
        "1234567890123456",
        "987654321098765",
        "111111111111111",
        "000000000000000000",
        "aaaaaaaaaaaaaaa",
        "abcdefghijklmno",
        "abcabcabcabcabc",
        "qwertyuiopasdfgh",
        "qwertyqwertyqwerty",
        "1qaz2wsx3edc4rfv",
        "1q2w3e4r5t6y7u8i",
        "asdfghjklzxcvbnm",
        "qwertyuiop12345",
        "iloveyouiloveyou",
        "i love you so much",
        "correcthorsebatterystaple",
        "correct horse battery staple",
        "letmeinletmein1",
        "adminadminadmin",
        "administrator123",
        "welcomewelcome1",
        "changemechangeme",
        "senhasenhasenha",
        "minhasenhaforte",
        "MinhaSenha12345",
        "esqueciminhasenha",
        "euteamomuitoeuteamomuito",
        "eu te amo muito",
        "deusefieldeusefiel",
        "jesuscristo2026",
        "flamengoflamengo",
        "corinthians2025!",
        "brasilbrasilbrasil",
        "mariamariamaria",
        "senha123senha123",
        "AmorDaMinhaVida",
        "a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}a\u{301}",
    ] {
        assert_eq!(
            check(&PasswordPolicy::default(), obvious, &[]).err(),
            Some(PasswordRefused::Common),
            "{obvious}"
        );
    }
}

#[test]
fn good_passphrases_are_not_on_it() {
    for good in [
        "violet teapot argues politely",
        "kT9#vLq2!mWz7xR",
        "o padeiro dorme no telhado azul",
        "mypassword has seven lives and a hat",
        "5829103746582910",
        "ひらがなで書いた長い合言葉です",
    ] {
        assert!(check(&PasswordPolicy::default(), good, &[]).is_ok(), "{good}");
    }
}
