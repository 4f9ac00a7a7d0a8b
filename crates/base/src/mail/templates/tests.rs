//! Every mail, in every language, with harmless and with hostile values.

use porteiro_protocol::time::OffsetDateTime;

use super::*;

const BASE: &str = "https://id.example.org";
const HOSTILE: &str =
    "<script>alert(1)</script>\"'&\r\nBcc: all@evil.example\n\n\u{202e}https://evil.example/x \0";

/// All mails. A new function is a new variant here, and the compiler requires the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    SignInCode,
    RegistrationCode,
    VerifyAddressCode,
    RecoveryCode,
    SomeoneTried,
    AlreadyRegistered,
    NoAccount,
    CredentialChanged(Change),
    NewDevice,
    DeviceConnected,
    RecoveryHoldStarted,
    SessionsEnded,
    ApprovalWaiting,
    ImpersonationStarted,
    Invitation,
    AccountExported,
    DeletionRequested,
    DeletionCancelled,
    AccountDeleted,
    RecoveryStarted,
}

fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        Kind::SignInCode,
        Kind::RegistrationCode,
        Kind::VerifyAddressCode,
        Kind::RecoveryCode,
        Kind::SomeoneTried,
        Kind::AlreadyRegistered,
        Kind::NoAccount,
        Kind::NewDevice,
        Kind::DeviceConnected,
        Kind::RecoveryHoldStarted,
        Kind::SessionsEnded,
        Kind::ApprovalWaiting,
        Kind::ImpersonationStarted,
        Kind::Invitation,
        Kind::AccountExported,
        Kind::DeletionRequested,
        Kind::DeletionCancelled,
        Kind::AccountDeleted,
        Kind::RecoveryStarted,
    ];
    kinds.extend(Change::ALL.map(Kind::CredentialChanged));
    kinds
}

impl Kind {
    fn has_code(self) -> bool {
        matches!(
            self,
            Self::SignInCode | Self::RegistrationCode | Self::VerifyAddressCode | Self::RecoveryCode
        )
    }

    fn render(self, locale: Locale, value: &str, linked: bool) -> Rendered {
        let link = || linked.then(|| Link::under(BASE, "/ui/link?t=a&u=b").unwrap());
        let at = OffsetDateTime::from_unix_timestamp(1_772_500_000).unwrap();
        let code = CodeMail {
            code: "123456",
            link: link(),
            directory: link(),
            phrase: value,
            service: value,
            minutes: 10,
        };
        let note = Note { service: value, link: link(), directory: link() };
        let what = Happening { service: value, at, device: Some(value), place: Some(value), link: link() };
        match self {
            Self::SignInCode => sign_in_code(locale, &code),
            Self::RegistrationCode => registration_code(locale, &code),
            Self::VerifyAddressCode => verify_address_code(locale, &code),
            Self::RecoveryCode => recovery_code(locale, &code),
            Self::SomeoneTried => someone_tried(locale, &note),
            Self::AlreadyRegistered => already_registered(locale, &note),
            Self::NoAccount => no_account(locale, &note),
            Self::CredentialChanged(change) => credential_changed(locale, change, &what),
            Self::NewDevice => new_device(locale, &what),
            Self::DeviceConnected => device_connected(locale, value, &what),
            Self::RecoveryHoldStarted => {
                recovery_hold_started(locale, at + porteiro_protocol::time::Duration::hours(72), &what)
            }
            Self::AccountExported => account_exported(locale, &what),
            Self::DeletionRequested => deletion_requested(locale, at, &what),
            Self::DeletionCancelled => deletion_cancelled(locale, &what),
            Self::AccountDeleted => account_deleted(locale, &what),
            Self::RecoveryStarted => recovery_started(locale, at, &what),
            Self::SessionsEnded => sessions_ended(locale, &what),
            Self::ApprovalWaiting => approval_waiting(locale, &what),
            Self::ImpersonationStarted => {
                let acting = Acting { who: value, organization: value, reason: value, until: at };
                impersonation_started(locale, &acting, &what)
            }
            Self::Invitation => {
                let (token, until) = ("pt_inv_a-b", at);
                invitation(
                    locale,
                    &InvitationMail { service: value, organization: value, link: link(), token, until },
                )
            }
        }
    }
}

fn all(value: &'static str) -> impl Iterator<Item = (Kind, Locale, bool, Rendered)> {
    kinds().into_iter().flat_map(move |kind| {
        Locale::ALL.into_iter().flat_map(move |locale| {
            [true, false].map(|linked| (kind, locale, linked, kind.render(locale, value, linked)))
        })
    })
}

#[test]
fn every_mail_is_short_and_says_the_same_in_both_forms() {
    for (kind, locale, linked, mail) in all("Acme") {
        let about = format!("{kind:?} {locale:?}\n{}", mail.text);
        assert!((10..=78).contains(&mail.subject.chars().count()), "{}: {about}", mail.subject);
        assert!(mail.text.contains("Acme") && mail.text.chars().count() < 800, "{about}");
        assert_eq!(mail.text.contains(BASE), linked, "{about}");
        for line in mail.text.lines().filter(|line| !line.is_empty()) {
            assert!(mail.html.contains(&layout::escape(line)), "missing in HTML: {line}");
        }
        assert!(mail.html.contains(&format!("<html lang=\"{}\">", locale.as_str())));
        assert_eq!(format!("{mail:?}"), "<rendered mail>");
        assert_eq!(mail.to("ana@example.org").subject, mail.subject);
    }
}

#[test]
fn a_code_stands_first_in_the_subject_and_alone_on_its_line() {
    for (kind, _, _, mail) in all("Acme") {
        assert_eq!(mail.subject.starts_with("123456 "), kind.has_code(), "{}", mail.subject);
        assert_eq!(mail.text.lines().any(|line| line == "123456"), kind.has_code());
        assert_eq!(mail.html.contains(">123456</p>"), kind.has_code());
    }
    assert_eq!(Kind::SignInCode.render(Locale::En, "Acme", true).subject, "123456 is your sign-in code");
    assert_eq!(Kind::SignInCode.render(Locale::Pt, "Acme", true).subject, "123456 é seu código de acesso");
}

#[test]
fn hostile_names_neither_escape_nor_lead_away() {
    for (kind, _, _, mail) in all(HOSTILE) {
        assert!(!mail.subject.contains(char::is_control), "{kind:?}");
        assert!(!mail.text.contains(|c: char| c.is_control() && c != '\n'), "{kind:?}");
        assert!(!mail.text.lines().any(|line| line.starts_with("Bcc")), "{kind:?}");
        assert!(!mail.html.contains("<script") && mail.html.contains("&lt;script&gt;"), "{kind:?}");
        for form in [&mail.subject, &mail.text, &mail.html] {
            assert!(!form.contains("evil.example") && !form.contains('\u{202e}') && !form.contains('@'));
            for (start, _) in form.match_indices("://") {
                assert!(
                    form[..start + 3].ends_with("https://")
                        && form[start + 3..].starts_with("id.example.org/")
                );
            }
        }
        // No remote content and no scripts.
        for word in ["<img", "src=", "url(", "<link", "@import", "http-equiv", "onload"] {
            assert!(!mail.html.contains(word), "{kind:?}: {word}");
        }
        // The same number of tags as with a harmless name: the inserted text opened none.
        let harmless = kind.render(Locale::En, "Acme", true).html.matches('<').count();
        assert_eq!(kind.render(Locale::En, HOSTILE, true).html.matches('<').count(), harmless);
    }
}

#[test]
fn portuguese_is_portuguese() {
    let words = |text: &str| {
        let lower = text.to_lowercase();
        lower.split(|c: char| !c.is_alphabetic()).map(str::to_owned).collect::<Vec<_>>()
    };
    let english =
        ["the", "your", "you", "is", "it", "was", "if", "with", "account", "code", "when", "device"];
    let portuguese = ["você", "sua", "seu", "não", "se", "foi", "conta", "código", "este", "endereço"];
    for kind in kinds() {
        let [en, pt] = Locale::ALL.map(|locale| kind.render(locale, "Acme", false));
        assert_ne!(en.subject, pt.subject);
        let count = |text: &str, list: &[&str]| {
            words(text).iter().filter(|word| list.contains(&word.as_str())).count()
        };
        assert_eq!(count(&pt.text, &english), 0, "{}", pt.text);
        assert!(count(&pt.text, &portuguese) >= 3, "{}", pt.text);
        assert_eq!(count(&en.text, &portuguese), 0, "{}", en.text);
        assert!(pt.text.contains(|c: char| "áàâãçéêíóôõú".contains(c)), "{}", pt.text);
        for european in ["ecrã", "palavra-passe", "utilizador", "telemóvel", "contacto"] {
            assert!(!pt.text.contains(european));
        }
    }
}
