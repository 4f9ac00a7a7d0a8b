//! The standard scopes (OpenID Connect Core §5.4). One line here, and discovery announces it.

/// A scope that every client may ask for, defined by a standard rather than by an API, in a person's words.
#[derive(Debug)]
pub struct StandardScope {
    pub name: &'static str,
    pub en: &'static str,
    pub pt: &'static str,
    /// What userinfo says for it.
    pub claims: &'static [&'static str],
}

/// Every standard scope that is served.
pub const STANDARD_SCOPES: &[StandardScope] = &[
    StandardScope { name: "openid", en: "Know who you are", pt: "Saber quem você é", claims: &["sub"] },
    StandardScope {
        name: "profile",
        en: "See your name and language",
        pt: "Ver seu nome e idioma",
        claims: &["name", "locale", "updated_at"],
    },
    StandardScope {
        name: "email",
        en: "See your e-mail address",
        pt: "Ver seu endereço de e-mail",
        claims: &["email", "email_verified"],
    },
    StandardScope {
        name: "phone",
        en: "See your phone number",
        pt: "Ver seu número de telefone",
        claims: &["phone_number", "phone_number_verified"],
    },
    StandardScope {
        name: "offline_access",
        en: "Keep access when you are not there",
        pt: "Manter o acesso quando você não está presente",
        claims: &[],
    },
];

/// Whether a scope is a standard's rather than an API's.
pub fn is_standard(name: &str) -> bool {
    STANDARD_SCOPES.iter().any(|scope| scope.name == name)
}
