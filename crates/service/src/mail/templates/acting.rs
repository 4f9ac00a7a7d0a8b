//! The mail that tells somebody that another acts as them.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Happening, Locale, Rendered,
    layout::{Block, Letter, name},
    notices::facts,
};

/// Who acts, where, why and until when.
#[derive(Debug, Clone, Copy)]
pub struct Acting<'a> {
    pub who: &'a str,
    pub organization: &'a str,
    pub reason: &'a str,
    pub until: OffsetDateTime,
}

pub fn impersonation_started(locale: Locale, acting: &Acting<'_>, what: &Happening<'_>) -> Rendered {
    let (service, until) = (name(what.service), locale.moment(acting.until));
    let (who, organization, reason) = (name(acting.who), name(acting.organization), name(acting.reason));
    let [subject, happened, said, trail] = match locale {
        Locale::En => [
            "Someone of the platform is acting as you".into(),
            format!("{who}, who looks after {service}, began to act as you in {organization}, until {until}."),
            format!("The reason they gave: {reason}."),
            "What they do is written in that organization's audit trail, under their own name. They cannot change \
             how you sign in. If you did not expect this, ask an administrator of the organization."
                .into(),
        ],
        Locale::Pt => [
            "Alguém da plataforma está agindo como você".into(),
            format!("{who}, que cuida de {service}, começou a agir como você em {organization}, até {until}."),
            format!("O motivo informado foi: {reason}."),
            "O que for feito fica na trilha de auditoria dessa organização, com o nome de quem agiu. Não é possível \
             mudar como você entra. Se você não esperava por isso, fale com quem administra a organização."
                .into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(happened), facts(locale, what), Block::Paragraph(said)];
    blocks.push(Block::Paragraph(trail));
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}
