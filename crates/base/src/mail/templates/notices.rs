//! Notices: what happened, and whether anything has to be done.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Link, Locale, Rendered,
    directory::directory,
    layout::{Block, Letter, name},
};

/// For an address without an account, or with one already.
#[derive(Debug, Clone)]
pub struct Note<'a> {
    pub service: &'a str,
    /// To the sign-in page.
    pub link: Option<Link>,
    /// To the connections of the organization that verified the address's domain.
    pub directory: Option<Link>,
}

/// An event of an account.
#[derive(Clone)]
pub struct Happening<'a> {
    pub service: &'a str,
    pub at: OffsetDateTime,
    pub device: Option<&'a str>,
    pub place: Option<&'a str>,
    /// The page for "this was not me"; for a recovery, where it is stopped.
    pub link: Option<Link>,
}

/// Contains a person's location, so it is not printed.
impl std::fmt::Debug for Happening<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<happening>")
    }
}

/// A change of an account's credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    PasskeyAdded,
    PasskeyRemoved,
    PasswordSet,
    PasswordChanged,
    PasswordRemoved,
    TotpAdded,
    TotpRemoved,
    RecoveryCodesMade,
    RecoveryCodeUsed,
    AddressAdded,
    AddressRemoved,
    PhoneAdded,
    PhoneRemoved,
    IdentityLinked,
    IdentityUnlinked,
}

impl Change {
    pub const ALL: [Self; 15] = [
        Self::PasskeyAdded,
        Self::PasskeyRemoved,
        Self::PasswordSet,
        Self::PasswordChanged,
        Self::PasswordRemoved,
        Self::TotpAdded,
        Self::TotpRemoved,
        Self::RecoveryCodesMade,
        Self::RecoveryCodeUsed,
        Self::AddressAdded,
        Self::AddressRemoved,
        Self::PhoneAdded,
        Self::PhoneRemoved,
        Self::IdentityLinked,
        Self::IdentityUnlinked,
    ];

    /// A sentence without its full stop; also the subject.
    fn sentence(self, locale: Locale) -> &'static str {
        match (locale, self) {
            (Locale::En, Self::PasskeyAdded) => "A passkey was added to your account",
            (Locale::En, Self::PasskeyRemoved) => "A passkey was removed from your account",
            (Locale::En, Self::PasswordSet) => "A password was set for your account",
            (Locale::En, Self::PasswordChanged) => "Your password was changed",
            (Locale::En, Self::PasswordRemoved) => "The password was removed from your account",
            (Locale::En, Self::TotpAdded) => "An authenticator app was added to your account",
            (Locale::En, Self::TotpRemoved) => "An authenticator app was removed from your account",
            (Locale::En, Self::RecoveryCodesMade) => {
                "New recovery codes were created, and the old ones no longer work"
            }
            (Locale::En, Self::RecoveryCodeUsed) => "One of your recovery codes was used",
            (Locale::En, Self::AddressAdded) => "An e-mail address was added to your account",
            (Locale::En, Self::AddressRemoved) => "An e-mail address was removed from your account",
            (Locale::En, Self::PhoneAdded) => "A phone number was added to your account",
            (Locale::En, Self::PhoneRemoved) => "A phone number was removed from your account",
            (Locale::En, Self::IdentityLinked) => {
                "A way to sign in by another service was linked to your account"
            }
            (Locale::En, Self::IdentityUnlinked) => {
                "A way to sign in by another service was unlinked from your account"
            }
            (Locale::Pt, Self::PasskeyAdded) => "Uma chave de acesso foi adicionada à sua conta",
            (Locale::Pt, Self::PasskeyRemoved) => "Uma chave de acesso foi removida da sua conta",
            (Locale::Pt, Self::PasswordSet) => "Uma senha foi definida para a sua conta",
            (Locale::Pt, Self::PasswordChanged) => "Sua senha foi alterada",
            (Locale::Pt, Self::PasswordRemoved) => "A senha foi removida da sua conta",
            (Locale::Pt, Self::TotpAdded) => "Um aplicativo autenticador foi adicionado à sua conta",
            (Locale::Pt, Self::TotpRemoved) => "Um aplicativo autenticador foi removido da sua conta",
            (Locale::Pt, Self::RecoveryCodesMade) => {
                "Novos códigos de recuperação foram gerados, e os antigos não valem mais"
            }
            (Locale::Pt, Self::RecoveryCodeUsed) => "Um dos seus códigos de recuperação foi usado",
            (Locale::Pt, Self::AddressAdded) => "Um endereço de e-mail foi adicionado à sua conta",
            (Locale::Pt, Self::AddressRemoved) => "Um endereço de e-mail foi removido da sua conta",
            (Locale::Pt, Self::PhoneAdded) => "Um número de telefone foi adicionado à sua conta",
            (Locale::Pt, Self::PhoneRemoved) => "Um número de telefone foi removido da sua conta",
            (Locale::Pt, Self::IdentityLinked) => {
                "Uma forma de entrar por outro serviço foi vinculada à sua conta"
            }
            (Locale::Pt, Self::IdentityUnlinked) => {
                "Uma forma de entrar por outro serviço foi desvinculada da sua conta"
            }
        }
    }
}

/// For an address without an account while registration is closed: at most once a day, so that an anonymous caller
/// cannot use us to send unwanted mail.
pub fn someone_tried(locale: Locale, note: &Note<'_>) -> Rendered {
    let service = name(note.service);
    let words = match locale {
        Locale::En => [
            "Someone tried to sign in with this address".into(),
            format!(
                "Someone typed this e-mail address to sign in to {service}. There is no account for it, so \
                 nothing happened and nothing was created."
            ),
            "If it was you: perhaps you signed up with another address. Try that one:".into(),
            "If it was not you, you do not need to do anything.".into(),
        ],
        Locale::Pt => [
            "Alguém tentou entrar com este endereço".into(),
            format!(
                "Alguém digitou este endereço de e-mail para entrar em {service}. Não existe conta com ele, \
                 então nada aconteceu e nada foi criado."
            ),
            "Se foi você: talvez tenha se cadastrado com outro endereço. Tente com ele:".into(),
            "Se não foi você, não é preciso fazer nada.".into(),
        ],
    };
    note_mail(locale, note, words)
}

pub fn already_registered(locale: Locale, note: &Note<'_>) -> Rendered {
    let service = name(note.service);
    let words = match locale {
        Locale::En => [
            "You already have an account".into(),
            format!(
                "Someone, probably you, wanted to create an account at {service} with this address. You already have one, so we did not create another."
            ),
            "Sign in instead:".into(),
            "If it was not you, you do not need to do anything: your account has not changed.".into(),
        ],
        Locale::Pt => [
            "Você já tem uma conta".into(),
            format!(
                "Alguém, provavelmente você, quis criar uma conta em {service} com este endereço. Você já tem \
                 uma, então nenhuma outra foi criada."
            ),
            "Entre com ela:".into(),
            "Se não foi você, não é preciso fazer nada: sua conta continua como estava.".into(),
        ],
    };
    note_mail(locale, note, words)
}

pub fn no_account(locale: Locale, note: &Note<'_>) -> Rendered {
    let service = name(note.service);
    let words = match locale {
        Locale::En => [
            "There is no account for this address".into(),
            format!(
                "Someone, probably you, asked to get back into an account at {service} with this address. There \
                 is no account for it."
            ),
            "Perhaps you signed up with another address. Try that one:".into(),
            "If it was not you, you do not need to do anything.".into(),
        ],
        Locale::Pt => [
            "Não existe conta com este endereço".into(),
            format!(
                "Alguém, provavelmente você, pediu para recuperar o acesso a uma conta em {service} com este \
                 endereço. Não existe conta com ele."
            ),
            "Talvez você tenha se cadastrado com outro endereço. Tente com ele:".into(),
            "Se não foi você, não é preciso fazer nada.".into(),
        ],
    };
    note_mail(locale, note, words)
}

fn note_mail(locale: Locale, note: &Note<'_>, words: [String; 4]) -> Rendered {
    let [subject, what, instead, otherwise] = words;
    let mut blocks = vec![Block::Paragraph(what)];
    if let Some(link) = &note.link {
        blocks.extend([Block::Paragraph(instead), Block::Link(link.clone())]);
    }
    blocks.extend(directory(locale, note.directory.as_ref()));
    blocks.push(Block::Paragraph(otherwise));
    Letter { locale, subject, blocks }.render()
}

pub fn credential_changed(locale: Locale, change: Change, what: &Happening<'_>) -> Rendered {
    let (sentence, service) = (change.sentence(locale), name(what.service));
    let first = match locale {
        Locale::En => format!("{sentence}. This is about your account at {service}."),
        Locale::Pt => format!("{sentence}. Trata-se da sua conta em {service}."),
    };
    happening(locale, sentence, first, what)
}

pub fn new_device(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    match locale {
        Locale::En => happening(
            locale,
            "New sign-in to your account",
            format!("Someone signed in to your account at {service} on a device we had not seen before."),
            what,
        ),
        Locale::Pt => happening(
            locale,
            "Novo acesso à sua conta",
            format!("Alguém entrou na sua conta em {service} com um dispositivo que ainda não conhecíamos."),
            what,
        ),
    }
}

/// The person approved a device.
pub fn device_connected(locale: Locale, client: &str, what: &Happening<'_>) -> Rendered {
    let (service, client) = (name(what.service), name(client));
    match locale {
        Locale::En => happening(
            locale,
            "A device was given access to your account",
            format!(
                "You confirmed a code, and {client} may now use your account at {service} on another device. If you did not start this yourself, revoke the access in your account, under “Apps and agents”."
            ),
            what,
        ),
        Locale::Pt => happening(
            locale,
            "Um dispositivo passou a ter acesso à sua conta",
            format!(
                "Você confirmou um código, e {client} já pode usar a sua conta em {service} em outro dispositivo. Se não foi você que começou isso, revogue o acesso na sua conta, em “Aplicativos e agentes”."
            ),
            what,
        ),
    }
}

pub fn sessions_ended(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    match locale {
        Locale::En => happening(
            locale,
            "You were signed out on other devices",
            format!(
                "Your account at {service} was signed out everywhere else. Sign in again where you need it."
            ),
            what,
        ),
        Locale::Pt => happening(
            locale,
            "Você saiu da conta nos outros dispositivos",
            format!(
                "Sua conta em {service} foi desconectada em todos os outros lugares. Entre de novo onde precisar."
            ),
            what,
        ),
    }
}

/// Something waits for a decision. Who asks for what is only shown to who signs in, and nothing is decided from a mail.
pub fn approval_waiting(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    let [subject, first, last] = match locale {
        Locale::En => [
            "Something waits for your decision".into(),
            format!("An app asks you to approve something. To see what it is, sign in to {service} and open your approvals."),
            "If you did not start anything, say so there: the app then cannot ask you for a day. If you do nothing, \
             nothing is approved."
                .into(),
        ],
        Locale::Pt => [
            "Algo espera pela sua decisão".into(),
            format!("Um aplicativo pede que você aprove algo. Para ver o que é, entre em {service} e abra as suas aprovações."),
            "Se você não começou nada, avise lá: o aplicativo fica um dia sem poder pedir. Se você não fizer nada, nada \
             é aprovado."
                .into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(first), Block::Paragraph(last)];
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}

pub(super) fn happening(locale: Locale, subject: &str, first: String, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    let last = match (locale, &what.link) {
        (Locale::En, Some(_)) => {
            "If it was you, everything is fine. If it was not, protect your account now:".into()
        }
        (Locale::En, None) => {
            format!(
                "If it was you, everything is fine. If it was not, sign in to {service} now and check your account."
            )
        }
        (Locale::Pt, Some(_)) => "Se foi você, está tudo bem. Se não foi, proteja sua conta agora:".into(),
        (Locale::Pt, None) => {
            format!("Se foi você, está tudo bem. Se não foi, entre em {service} agora e verifique sua conta.")
        }
    };
    let mut blocks = vec![Block::Paragraph(first), facts(locale, what), Block::Paragraph(last)];
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject: subject.into(), blocks }.render()
}

pub(super) fn facts(locale: Locale, what: &Happening<'_>) -> Block {
    let [when, device, place] = match locale {
        Locale::En => ["When", "Device", "Place"],
        Locale::Pt => ["Quando", "Dispositivo", "Lugar"],
    };
    let mut facts = vec![(when, locale.moment(what.at))];
    facts.extend(what.device.map(|value| (device, name(value))));
    facts.extend(what.place.map(|value| (place, name(value))));
    Block::Facts(facts)
}
