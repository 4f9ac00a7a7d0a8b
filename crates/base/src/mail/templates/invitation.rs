//! The invitation to an organization. The recipient may have no account.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Link, Locale, Rendered,
    layout::{Block, Letter, name},
};

pub struct InvitationMail<'a> {
    pub service: &'a str,
    pub organization: &'a str,
    /// The page for the token; without one the mail contains the token itself.
    pub link: Option<Link>,
    pub token: &'a str,
    pub until: OffsetDateTime,
}

/// Contains the secret, so it is not printed.
impl std::fmt::Debug for InvitationMail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<invitation mail>")
    }
}

/// The subject contains no name: an attacker could choose it to abuse our mails.
pub fn invitation(locale: Locale, letter: &InvitationMail<'_>) -> Rendered {
    let (service, organization) = (name(letter.service), name(letter.organization));
    let until = locale.moment(letter.until);
    let [subject, invited, how, nothing] = match locale {
        Locale::En => [
            "You are invited to join an organization".into(),
            format!("You are invited to join the organization {organization} at {service}."),
            match letter.link {
                Some(_) => format!("To accept, open this link and sign in before {until}:"),
                None => format!("To accept, sign in before {until} and enter this invitation:"),
            },
            "If you did not expect this, you do not need to do anything. Do not forward it: anyone who has it can accept it."
                .into(),
        ],
        Locale::Pt => [
            "Você recebeu um convite para uma organização".into(),
            format!("Você recebeu um convite para fazer parte da organização {organization} em {service}."),
            match letter.link {
                Some(_) => format!("Para aceitar, abra este link e entre na sua conta antes de {until}:"),
                None => format!("Para aceitar, entre na sua conta antes de {until} e informe este convite:"),
            },
            "Se você não esperava por isso, não é preciso fazer nada. Não repasse esta mensagem: quem a tiver pode \
             aceitar o convite."
                .into(),
        ],
    };
    let carried = match &letter.link {
        Some(link) => Block::Link(link.clone()),
        None => Block::Token(letter.token.to_owned()),
    };
    let blocks = vec![Block::Paragraph(invited), Block::Paragraph(how), carried, Block::Paragraph(nothing)];
    Letter { locale, subject, blocks }.render()
}
