//! Authorization codes. Each is good once, so they are made before a run, as many as it may need.

use std::cell::RefCell;

use anyhow::{Context, Result};
use porteiro_service::secrets::{HandleKind, Route};
use tokio_postgres::Client;

use crate::{
    families::{Families, Holder, account, grant_id, grant_id_sql, hash_sql},
    fill::{Caller, Filled},
    load::Limit,
    tables::Grants,
};

/// Whose hash is the challenge of every code.
pub const VERIFIER: &str = "a-verifier-that-all-codes-of-a-bench-have-in-common";
/// More than are redeemed in a second. A run that finds none left ends early, and its rate is still right.
const PER_SECOND: u64 = 12_000;
/// Numbers of codes begin here: no family has one.
const FIRST: u64 = 1 << 40;

/// Makes codes until there are enough of them for a run.
pub async fn prepare(
    database: &Client,
    filled: &Filled,
    families: &RefCell<Families>,
    caller: &Caller,
    limit: Limit,
) -> Result<()> {
    let ready = families.borrow().codes.get(&caller.holder).map_or(0, |codes| codes.len() as u64);
    let enough = match limit {
        Limit::Seconds(seconds) => PER_SECOND * seconds,
        Limit::Operations(count) => count as u64,
    };
    let missing = enough.saturating_sub(ready);
    if missing == 0 {
        return Ok(());
    }
    let row = database.query_one("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", &[]).await?;
    let batch = Batch {
        millis: u64::try_from(row.get::<_, i64>(0))?,
        spread: filled.numbering.families / 16,
        holder: caller.holder,
    };
    let numbers = (FIRST, FIRST + missing - 1);
    database.batch_execute(&batch.grants(filled, numbers).insert()).await.context("codes")?;
    let mut families = families.borrow_mut();
    for number in numbers.0..=numbers.1 {
        let code = batch.code(&families, number)?;
        families.codes.entry(caller.holder).or_default().push_back(code);
    }
    Ok(())
}

/// Codes that are made together.
struct Batch {
    /// When; no other batch is of this millisecond.
    millis: u64,
    /// Over how many people they are spread.
    spread: u64,
    holder: Holder,
}

impl Batch {
    /// Which of sixteen families is such a one ([`Holder::of`]).
    const fn offset(&self) -> u64 {
        match self.holder {
            Holder::Person => 0,
            Holder::PublicClient => 2,
            Holder::Member => 6,
        }
    }

    fn grants<'a>(&self, filled: &'a Filled, numbers: (u64, u64)) -> Grants<'a> {
        Grants {
            id: grant_id_sql(&format!("{}::int8", self.millis), "i"),
            hash: hash_sql("i"),
            generation: 0,
            challenge: format!("sha256('{VERIFIER}'::bytea)"),
            person: format!("(i % {} * 16 + {})", self.spread, self.offset()),
            confidential: &filled.confidential,
            public: &filled.public,
            numbers,
        }
    }

    fn code(&self, families: &Families, number: u64) -> Result<Box<str>> {
        let owner = account(number % self.spread * 16 + self.offset());
        let route = Route { owner, row: grant_id(self.millis, number), generation: 0 };
        families.handle(HandleKind::Code, route, number)
    }
}
