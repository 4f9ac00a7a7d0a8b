//! The standard scopes (OpenID Connect Core §5.4). Discovery follows from the table.

/// A scope of a standard or of our own account API, which belongs to no registered API; with its description for
/// people.
#[derive(Debug)]
pub struct StandardScope {
    pub name: &'static str,
    pub en: &'static str,
    pub pt: &'static str,
    /// The claims that userinfo returns for it.
    pub claims: &'static [&'static str],
    /// Only for first-party clients.
    pub first_party: bool,
}

/// Every standard scope that is served.
pub const STANDARD_SCOPES: &[StandardScope] = &[
    StandardScope {
        name: "openid",
        en: "Know who you are",
        pt: "Saber quem você é",
        claims: &["sub"],
        first_party: false,
    },
    StandardScope {
        name: "profile",
        en: "See your name and language",
        pt: "Ver seu nome e idioma",
        claims: &["name", "locale", "updated_at"],
        first_party: false,
    },
    StandardScope {
        name: "email",
        en: "See your e-mail address",
        pt: "Ver seu endereço de e-mail",
        claims: &["email", "email_verified"],
        first_party: false,
    },
    StandardScope {
        name: "phone",
        en: "See your phone number",
        pt: "Ver seu número de telefone",
        claims: &["phone_number", "phone_number_verified"],
        first_party: false,
    },
    StandardScope {
        name: "offline_access",
        en: "Keep access while you are away",
        pt: "Manter o acesso quando você não está presente",
        claims: &[],
        first_party: false,
    },
    StandardScope {
        name: "account",
        en: "Change how you sign in, and see and end your sessions",
        pt: "Mudar como você entra, e ver e encerrar suas sessões",
        claims: &[],
        first_party: true,
    },
];

/// Whether a scope is a standard's rather than an API's.
pub fn is_standard(name: &str) -> bool {
    STANDARD_SCOPES.iter().any(|scope| scope.name == name)
}

/// Whether an unverified client may request a standard scope.
pub fn is_open(name: &str) -> bool {
    STANDARD_SCOPES.iter().any(|scope| scope.name == name && !scope.first_party)
}
