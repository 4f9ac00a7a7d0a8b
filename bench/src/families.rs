//! Families by number: ids, secrets and hashes follow from it, here and in SQL, so that a million of them can be made in
//! the database and any of them presented from here.

use std::{
    collections::{HashMap, VecDeque},
    path::Path,
};

use anyhow::{Context, Result};
use aws_lc_rs::digest::{SHA256, digest};
use porteiro_protocol::entropy::Entropy;
use porteiro_service::secrets::{HandleKind, MasterKey, Route, Secrets};
use uuid::Uuid;

/// Of how many days families are; two partitions hold them.
pub const DAYS: u64 = 25;
const DAY_MILLIS: u64 = 86_400_000;

/// How numbers become ids.
#[derive(Debug, Clone, Copy)]
pub struct Numbering {
    pub families: u64,
    /// When the first was made, in milliseconds.
    pub start: u64,
}

impl Numbering {
    pub fn step(&self) -> u64 {
        DAYS * DAY_MILLIS * 1_000 / self.families
    }

    /// How many approvals wait for a decision; the ids are those of families.
    pub fn approvals(&self) -> u64 {
        (self.families / 10).min(100_000)
    }

    pub fn grant(&self, number: u64) -> Uuid {
        grant_id(self.start + number * self.step() / 1_000, number)
    }

    /// The same as SQL over an expression for the number.
    pub fn grant_sql(&self, number: &str) -> String {
        grant_id_sql(&format!("{} + {number} * {} / 1000", self.start, self.step()), number)
    }
}

/// A UUIDv7 of that moment.
pub fn grant_id(millis: u64, number: u64) -> Uuid {
    Uuid::from_u128(u128::from(millis) << 80 | 0x7000_8000 << 48 | u128::from(number))
}

pub fn grant_id_sql(millis: &str, number: &str) -> String {
    format!("(lpad(to_hex({millis}), 12, '0') || '70008000' || lpad(to_hex({number}), 12, '0'))::uuid")
}

/// Spread over the whole key, as real ones are.
pub fn account(number: u64) -> Uuid {
    let hash = digest(&SHA256, &number.to_be_bytes());
    Uuid::from_slice(&hash.as_ref()[..16]).unwrap_or_default()
}

pub fn account_sql(number: &str) -> String {
    format!("encode(substr(sha256(int8send({number})), 1, 16), 'hex')::uuid")
}

pub fn hash_sql(number: &str) -> String {
    format!("sha256(sha256('bench'::bytea || int8send({number})))")
}

/// Whose a family is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holder {
    /// A person for themselves, at the confidential client.
    Person,
    /// The same at the public client: one in sixteen.
    PublicClient,
    /// A member of an organization, at the confidential client: one in four.
    Member,
}

impl Holder {
    pub const fn of(number: u64) -> Self {
        match number % 16 {
            2 => Self::PublicClient,
            6 | 7 | 14 | 15 => Self::Member,
            _ => Self::Person,
        }
    }
}

/// Whether the family of that number is a member's, in SQL.
pub fn is_members_sql(number: &str) -> String {
    format!("({number} % 8 >= 6)")
}

pub fn is_public_sql(number: &str) -> String {
    format!("({number} % 16 = 2)")
}

/// The secret of a family's first token, or of a code, instead of random bits.
struct Numbered(u64);

impl Entropy for Numbered {
    fn fill(&self, bytes: &mut [u8]) {
        let secret = digest(&SHA256, &[b"bench".as_slice(), &self.0.to_be_bytes()].concat());
        bytes.copy_from_slice(&secret.as_ref()[..bytes.len()]);
    }
}

/// The even families and their current tokens. The odd ones are the bare statement's.
pub struct Families {
    pub numbering: Numbering,
    secrets: Secrets,
    /// `None`: under way.
    current: HashMap<u64, Option<Box<str>>>,
    /// Codes that nobody has redeemed yet.
    pub codes: HashMap<Holder, VecDeque<Box<str>>>,
    /// Access tokens to be exchanged.
    pub subjects: Vec<Box<str>>,
    /// How many approvals were polled.
    polled: u64,
    seed: u64,
}

impl Families {
    pub fn new(numbering: Numbering, master: &MasterKey, tokens: &Path) -> Result<Self> {
        let secrets = Secrets::derive(master).context("the master key")?;
        let mut current = HashMap::new();
        for line in std::fs::read_to_string(tokens).unwrap_or_default().lines() {
            let (number, token) = line.split_once(' ').context("the tokens of the last run")?;
            current.insert(number.parse()?, Some(token.into()));
        }
        Ok(Self {
            numbering,
            secrets,
            current,
            codes: HashMap::new(),
            subjects: Vec::new(),
            polled: 0,
            seed: 88_172_645_463_325_252,
        })
    }

    /// For the next run on the same data.
    pub fn save(&self, tokens: &Path) -> Result<()> {
        let known = self.current.iter().filter_map(|(number, token)| Some((number, token.as_ref()?)));
        let lines: Vec<String> = known.map(|(number, token)| format!("{number} {token}")).collect();
        std::fs::write(tokens, lines.join("\n")).context("the tokens cannot be written")
    }

    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    /// A family of such a holder that nobody else is using, and its token.
    pub fn take(&mut self, holder: Holder) -> Result<(u64, Box<str>)> {
        loop {
            let number = self.random() % (self.numbering.families / 2) * 2;
            if Holder::of(number) != holder {
                continue;
            }
            match self.current.insert(number, None) {
                Some(Some(token)) => return Ok((number, token)),
                Some(None) => {}
                None => return Ok((number, self.first_token(number)?)),
            }
        }
    }

    pub fn put(&mut self, number: u64, token: Box<str>) {
        self.current.insert(number, Some(token));
    }

    /// Any of the subject tokens.
    pub fn subject(&mut self) -> Option<Box<str>> {
        let random = usize::try_from(self.random()).unwrap_or_default();
        self.subjects.get(random % self.subjects.len().max(1)).cloned()
    }

    /// The handle of the next pending approval, in turns: none is polled too soon.
    pub fn pending(&mut self) -> Result<Box<str>> {
        let number = self.polled % self.numbering.approvals();
        self.polled += 1;
        let route = Route { owner: account(number), row: self.numbering.grant(number), generation: 0 };
        self.handle(HandleKind::ApprovalRequest, route, number)
    }

    fn first_token(&self, number: u64) -> Result<Box<str>> {
        let route = Route { owner: account(number), row: self.numbering.grant(number), generation: 1 };
        self.handle(HandleKind::Refresh, route, number)
    }

    /// The text of a handle whose secret follows from a number.
    pub fn handle(&self, kind: HandleKind, route: Route, number: u64) -> Result<Box<str>> {
        let issued = self.secrets.handles.issue(kind, route, &Numbered(number));
        Ok(issued.context("a token could not be made")?.text.as_str().into())
    }
}
