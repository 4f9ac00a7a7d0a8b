//! Mails with a code.

use super::{
    Link, Locale, Rendered,
    directory::directory,
    layout::{Block, Letter, name, token},
};

pub struct CodeMail<'a> {
    pub code: &'a str,
    pub link: Option<Link>,
    /// To the connections of the organization that verified the address's domain.
    pub directory: Option<Link>,
    /// Two words, shown on the screen too.
    pub phrase: &'a str,
    pub service: &'a str,
    pub minutes: u32,
}

/// Contains a code, so it is not printed.
impl std::fmt::Debug for CodeMail<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("<mail with a code>")
    }
}

pub fn sign_in_code(locale: Locale, mail: &CodeMail<'_>) -> Rendered {
    let (code, service) = (token(mail.code), name(mail.service));
    let [subject, purpose, otherwise] = match locale {
        Locale::En => [
            format!("{code} is your sign-in code"),
            format!("Your code to sign in to {service}:"),
            "If you did not ask for this code, ignore this mail: no one can sign in without it. Never share it with anyone; we will never ask for it."
                .into(),
        ],
        Locale::Pt => [
            format!("{code} é seu código de acesso"),
            format!("Seu código para entrar em {service}:"),
            "Se você não pediu este código, ignore este e-mail: sem o código, ninguém entra. Não o informe a \
             ninguém; nós nunca vamos pedi-lo."
                .into(),
        ],
    };
    compose(locale, mail, subject, purpose, otherwise)
}

pub fn registration_code(locale: Locale, mail: &CodeMail<'_>) -> Rendered {
    let (code, service) = (token(mail.code), name(mail.service));
    let [subject, purpose, otherwise] = match locale {
        Locale::En => [
            format!("{code} is your sign-up code"),
            format!("Welcome! Your code to create your account at {service}:"),
            "If you did not ask for an account, ignore this mail: no account is created without the code."
                .into(),
        ],
        Locale::Pt => [
            format!("{code} é seu código de cadastro"),
            format!("Boas-vindas! Seu código para criar sua conta em {service}:"),
            "Se você não pediu uma conta, ignore este e-mail: sem o código, nenhuma conta é criada.".into(),
        ],
    };
    compose(locale, mail, subject, purpose, otherwise)
}

pub fn verify_address_code(locale: Locale, mail: &CodeMail<'_>) -> Rendered {
    let (code, service) = (token(mail.code), name(mail.service));
    let [subject, purpose, otherwise] = match locale {
        Locale::En => [
            format!("{code} is your confirmation code"),
            format!("Your code to confirm this e-mail address for your account at {service}:"),
            "If you did not ask for this, ignore this mail: your address is not added to any account without the code."
                .into(),
        ],
        Locale::Pt => [
            format!("{code} é seu código de confirmação"),
            format!("Seu código para confirmar este endereço de e-mail na sua conta em {service}:"),
            "Se você não sabe do que se trata, ignore este e-mail: sem o código, seu endereço não é adicionado a \
             nenhuma conta."
                .into(),
        ],
    };
    compose(locale, mail, subject, purpose, otherwise)
}

/// The code that proves the mailbox at the start of a recovery; not one of the saved recovery codes.
pub fn recovery_code(locale: Locale, mail: &CodeMail<'_>) -> Rendered {
    let (code, service) = (token(mail.code), name(mail.service));
    let [subject, purpose, otherwise] = match locale {
        Locale::En => [
            format!("{code} is your code to get back in"),
            format!("Your code to get back into your account at {service}:"),
            "If you did not ask for this, ignore this mail and do not share the code: your account stays as it is."
                .into(),
        ],
        Locale::Pt => [
            format!("{code} é seu código para recuperar o acesso"),
            format!("Seu código para recuperar o acesso à sua conta em {service}:"),
            "Se não foi você que pediu, ignore este e-mail e não informe o código a ninguém: sua conta continua \
             como está."
                .into(),
        ],
    };
    compose(locale, mail, subject, purpose, otherwise)
}

fn compose(
    locale: Locale,
    mail: &CodeMail<'_>,
    subject: String,
    purpose: String,
    otherwise: String,
) -> Rendered {
    let (minutes, phrase) = (locale.minutes(mail.minutes), name(mail.phrase));
    let [how, instead] = match locale {
        Locale::En => [
            format!("Type it in the window that shows the words “{phrase}”. It works for {minutes}."),
            "Or open this link in the browser where you started:".into(),
        ],
        Locale::Pt => [
            format!("Digite-o na janela que mostra as palavras “{phrase}”. Ele vale por {minutes}."),
            "Ou abra este link no navegador em que você começou:".into(),
        ],
    };
    let mut blocks = vec![Block::Paragraph(purpose), Block::Code(mail.code.into()), Block::Paragraph(how)];
    if let Some(link) = &mail.link {
        blocks.extend([Block::Paragraph(instead), Block::Link(link.clone())]);
    }
    blocks.extend(directory(locale, mail.directory.as_ref()));
    blocks.push(Block::Paragraph(otherwise));
    Letter { locale, subject, blocks }.render()
}
