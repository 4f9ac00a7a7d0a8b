//! The mail that notifies a person of an impersonation.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Happening, Locale, Rendered,
    layout::{Block, Letter, name, remark},
    notices::facts,
};

/// The administrator, the organization, the reason and the end.
#[derive(Debug, Clone, Copy)]
pub struct Acting<'a> {
    pub who: &'a str,
    pub organization: &'a str,
    pub reason: &'a str,
    pub until: OffsetDateTime,
}

pub fn impersonation_started(locale: Locale, acting: &Acting<'_>, what: &Happening<'_>) -> Rendered {
    let (service, until) = (name(what.service), locale.moment(acting.until));
    let (who, organization, reason) = (name(acting.who), name(acting.organization), remark(acting.reason));
    let [subject, happened, said, trail] = match locale {
        Locale::En => [
            "An administrator of the service is acting as you".into(),
            format!("{who}, an administrator of {service}, started to act as you in {organization}, until {until}."),
            format!("The reason they gave: {reason}."),
            "Until then they can see what they were allowed to see as you. The organization's audit trail records, under their own name, when they started, what they were allowed to see and when it ended; it does not list what they read. They cannot change how you sign in. If you did not expect this, ask an administrator of the organization."
                .into(),
        ],
        Locale::Pt => [
            "Um administrador do serviço está agindo como você".into(),
            format!("{who}, da administração de {service}, começou a agir como você em {organization}, até {until}."),
            format!("O motivo informado foi: {reason}."),
            "Até lá, essa pessoa pode ver o que lhe foi permitido ver como você. A trilha de auditoria dessa \
             organização registra, com o nome de quem agiu, quando começou, o que foi permitido e quando terminou; \
             não registra cada leitura. Não é possível mudar como você entra. Se você não esperava por isso, fale \
             com quem administra a organização."
                .into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(happened), facts(locale, what), Block::Paragraph(said)];
    blocks.push(Block::Paragraph(trail));
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}
