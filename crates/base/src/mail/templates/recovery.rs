//! The mail about a recovery without any other proof: it must be easy to stop.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Happening, Locale, Rendered,
    layout::{Block, Letter, name},
    notices::facts,
};

pub fn recovery_hold_started(locale: Locale, until: OffsetDateTime, what: &Happening<'_>) -> Rendered {
    let (service, until) = (name(what.service), locale.moment(until));
    let [subject, happened, yours, stop] = match locale {
        Locale::En => [
            "Someone wants to recover your account".into(),
            format!(
                "Someone with access to your mailbox asked to get back into your account at {service} without your usual ways to sign in."
            ),
            format!(
                "If it was you, please wait: you can continue after {until}. The wait gives the owner of the account time to object."
            ),
            match what.link {
                Some(_) => "If it was not you, stop it now:",
                None => {
                    "If it was not you, sign in before then, stop it under “Security”, and change the password of \
                     your mailbox."
                }
            }
            .into(),
        ],
        Locale::Pt => [
            "Alguém quer recuperar a sua conta".into(),
            format!(
                "Alguém com acesso à sua caixa de e-mail pediu para recuperar a sua conta em {service} sem as suas formas habituais de entrar."
            ),
            format!(
                "Se foi você, aguarde: será possível continuar depois de {until}. A espera dá ao dono da conta tempo \
                 para se opor."
            ),
            match what.link {
                Some(_) => "Se não foi você, interrompa agora:",
                None => {
                    "Se não foi você, entre na conta antes disso, interrompa em “Segurança” e troque a senha da sua \
                     caixa de e-mail."
                }
            }
            .into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(happened), facts(locale, what), Block::Paragraph(yours)];
    blocks.push(Block::Paragraph(stop));
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}
