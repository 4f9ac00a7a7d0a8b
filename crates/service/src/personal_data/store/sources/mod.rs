//! Every table that has rows about a person: what an export shows of them, and what becomes of them when the account is
//! deleted (docs/decisions/0134). A test compares this list with the schema, column by column.

mod account;
mod members;

/// One table.
#[derive(Debug)]
pub struct Source {
    pub table: &'static str,
    /// What else has to be read to find the rows, with its `JOIN`; the table itself is `t`.
    pub joined: &'static str,
    /// Which rows are about the account `$1`.
    pub about: &'static str,
    pub key: Key,
    /// The columns that are shown, separated by spaces.
    pub shown: &'static str,
    /// Columns of which a part is shown, and the expression for it.
    pub partly: &'static [(&'static str, &'static str)],
    /// Columns that are not shown, and why not.
    pub withheld: &'static [(&'static str, &'static str)],
    pub erasure: Erasure,
}

/// By what the rows of a table are ordered.
#[derive(Debug, Clone, Copy)]
pub enum Key {
    Id(&'static str),
    /// Several columns; for tables in which a person has few rows.
    Text(&'static str),
}

/// What becomes of the rows.
#[derive(Debug, Clone, Copy)]
pub enum Erasure {
    Deleted,
    /// They stay, with these assignments.
    Emptied(&'static str),
    /// They stay, and why.
    Kept(&'static str),
    /// By a statement of its own.
    Separately,
}

impl Source {
    /// Whether an export has a list for it.
    pub const fn is_shown(&self) -> bool {
        !self.shown.is_empty()
    }

    /// All columns of the table.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> {
        let others = self.partly.iter().chain(self.withheld).map(|(name, _)| *name);
        self.shown.split_whitespace().chain(others)
    }
}

const EMPTY: Source = Source {
    table: "",
    joined: "",
    about: "",
    key: Key::Id(""),
    shown: "",
    partly: &[],
    withheld: &[],
    erasure: Erasure::Separately,
};

const HASH: &str = "a hash";
const INNER: &str = "how the service works inside";
const OTHERS: &str = "about another person";
const SAME: &str = "the same in all rows";

/// All of them: first those of the account itself.
pub fn all() -> impl Iterator<Item = &'static Source> {
    account::SOURCES.iter().chain(members::SOURCES)
}

/// Tables in which rows can name a person and that are not sources, and why not.
pub const OTHER: &[(&str, &str)] = &[
    ("identifier", "keyed hashes of what credentials show; deleted with the account"),
    ("flow", "a conversation that is not finished; it leaves with its partition, within days"),
    ("challenge", "as its flow"),
    ("device_request", "minutes"),
    ("grant_ending", "until the grants are revoked; minutes"),
    ("grant_ending_told", "as grant_ending"),
    ("idempotent_request", "answers to repeat for a day; it leaves with its partition"),
    ("job", "mail and messages until they are sent"),
    ("job_outcome", "has no person in it"),
    ("limit_bucket", "keyed hashes, for hours"),
    ("provisioning_refusal", "the organization's last ones; it names a member by an id alone"),
    ("refusal", "for the readers of a trail; it leaves with its partition"),
    (
        "trail",
        "the organization's chain of evidence; it names a member by an id alone, and the organization answers for it",
    ),
    ("trail_head", "the newest entry of a trail"),
];

/// Tables that are about clients, organizations or the service itself.
pub const IMPERSONAL: &[&str] = &[
    "api",
    "assertion_issuer",
    "assertion_seen",
    "bootstrap",
    "client",
    "client_branding",
    "client_policy",
    "code_challenge_seen",
    "connection",
    "job_pause",
    "organization",
    "organization_branding",
    "organization_connection",
    "organization_domain",
    "organization_group",
    "organization_slug",
    "proof_seen",
    "provisioning_head",
    "pushed_request",
    "resource_authorization_server",
    "role",
    "schedule",
    "schema_migration",
    "signing_key",
    "verified_domain",
];
