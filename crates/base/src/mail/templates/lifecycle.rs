//! Mails about the account as a whole: exported, deleted, or recovered by the platform.

use porteiro_protocol::time::OffsetDateTime;

use super::{
    Happening, Locale, Rendered,
    layout::{Block, Letter, name},
    notices::{facts, happening},
};

/// Everything that is stored about the person was exported.
pub fn account_exported(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    match locale {
        Locale::En => happening(
            locale,
            "Your data was exported",
            format!("Someone signed in to your account at {service} downloaded everything stored about you."),
            what,
        ),
        Locale::Pt => happening(
            locale,
            "Seus dados foram exportados",
            format!(
                "Alguém que entrou na sua conta em {service} baixou tudo o que está guardado sobre você."
            ),
            what,
        ),
    }
}

/// The account will be deleted; until then the person can keep it.
pub fn deletion_requested(locale: Locale, at: OffsetDateTime, what: &Happening<'_>) -> Rendered {
    let (service, at) = (name(what.service), locale.moment(at));
    let [subject, happened, keep, otherwise] = match locale {
        Locale::En => [
            "Your account will be deleted".into(),
            format!(
                "Someone signed in to your account at {service} asked to delete it. It was signed out everywhere, and \
                 apps no longer have access."
            ),
            format!(
                "If it was you, you need do nothing: everything is deleted on {at}. To keep the account, sign in \
                 before then and open “Your details”."
            ),
            "If it was not you, sign in now, keep the account, and check how you sign in.".into(),
        ],
        Locale::Pt => [
            "Sua conta será excluída".into(),
            format!(
                "Alguém que entrou na sua conta em {service} pediu para excluí-la. Ela foi desconectada em todos os \
                 lugares, e os aplicativos não têm mais acesso."
            ),
            format!(
                "Se foi você, não é preciso fazer nada: tudo será excluído em {at}. Para manter a conta, entre antes \
                 disso e abra “Seus dados”."
            ),
            "Se não foi você, entre agora, mantenha a conta e verifique como você entra.".into(),
        ],
    };
    letter(locale, subject, what, [happened, keep, otherwise])
}

pub fn deletion_cancelled(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    match locale {
        Locale::En => happening(
            locale,
            "Your account will not be deleted",
            format!("Someone signed in to your account at {service} and kept it. It will not be deleted."),
            what,
        ),
        Locale::Pt => happening(
            locale,
            "Sua conta não será mais excluída",
            format!("Alguém entrou na sua conta em {service} e a manteve. Ela não será excluída."),
            what,
        ),
    }
}

/// The last mail to a person.
pub fn account_deleted(locale: Locale, what: &Happening<'_>) -> Rendered {
    let service = name(what.service);
    let [subject, happened, kept] = match locale {
        Locale::En => [
            "Your account was deleted".into(),
            format!("Your account at {service} was deleted, as asked for two weeks ago. We no longer have this address."),
            "Organizations you belonged to keep a record of what was done there, without your name.".into(),
        ],
        Locale::Pt => [
            "Sua conta foi excluída".into(),
            format!(
                "Sua conta em {service} foi excluída, como pedido há duas semanas. Não temos mais este endereço."
            ),
            "As organizações a que você pertencia guardam um registro do que foi feito nelas, sem o seu nome.".into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(happened), Block::Paragraph(kept)];
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}

/// The platform started a recovery. The mail contains no secret: the person still has to prove this mailbox.
pub fn recovery_started(locale: Locale, until: OffsetDateTime, what: &Happening<'_>) -> Rendered {
    let (service, until) = (name(what.service), locale.moment(until));
    let [subject, happened, yours, stop] = match locale {
        Locale::En => [
            "An administrator started the recovery of your account".into(),
            format!(
                "An administrator of {service} started to recover your account, as you may have asked for."
            ),
            format!(
                "After {until}, choose “Get back into your account” at {service} and enter this e-mail address. The wait \
                 gives you time to object. No administrator can sign in for you or choose your password."
            ),
            "If you did not ask for it, sign in before then and stop it under “Security”.".into(),
        ],
        Locale::Pt => [
            "Um administrador iniciou a recuperação da sua conta".into(),
            format!(
                "Um administrador de {service} iniciou a recuperação da sua conta, como você talvez tenha pedido."
            ),
            format!(
                "Depois de {until}, escolha “Recuperar o acesso à sua conta” em {service} e informe este endereço de \
                 e-mail. A espera dá a você tempo para se opor. Nenhum administrador pode entrar por você nem escolher \
                 a sua senha."
            ),
            "Se você não pediu isso, entre na conta antes disso e interrompa em “Segurança”.".into(),
        ],
    };
    letter(locale, subject, what, [happened, yours, stop])
}

fn letter(locale: Locale, subject: String, what: &Happening<'_>, paragraphs: [String; 3]) -> Rendered {
    let [first, second, third] = paragraphs;
    let mut blocks = vec![Block::Paragraph(first), facts(locale, what)];
    blocks.extend([Block::Paragraph(second), Block::Paragraph(third)]);
    blocks.extend(what.link.clone().map(Block::Link));
    Letter { locale, subject, blocks }.render()
}
