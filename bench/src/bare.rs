//! `pgbench` with the statements of the service, one per transaction, prepared. It has no memory, so it presents a hash
//! that stays the right one: the same work.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use porteiro_service::{
    approvals, limits,
    oauth::{delegations, grants, introspection},
};

use crate::{
    families::{Holder, Numbering, account_sql, grant_id_sql, hash_sql},
    fill::{API, Caller, Filled, SCOPE},
    load::Measured,
    machine::Postgres,
    tables::delegation_sql,
};

/// The statement with numbers in place of parameters, highest first: `$1` is the beginning of `$10`.
fn spliced(statement: &str, parameters: &[String]) -> String {
    // One line, so without comments.
    let lines = statement.lines().map(|line| line.split("--").next().unwrap_or_default());
    let mut text = lines.collect::<Vec<_>>().join(" ");
    for (index, value) in parameters.iter().enumerate().rev() {
        text = text.replace(&format!("${}", index + 1), value);
    }
    text
}

/// `pgbench` reads a colon and a name as a variable, also inside quotes.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace(':', "' || ':' || '"))
}

/// An odd family of such a holder ([`Holder::of`]): nobody else presents it.
fn script(numbering: &Numbering, holder: Holder, statement: &str) -> String {
    let odd = match holder {
        Holder::Person | Holder::PublicClient => "random(0, 2) * 2 + 1",
        Holder::Member => "7",
    };
    format!("\\set i random(0, {}) * 8 + {odd}\n{statement};\n", numbering.families / 8 - 1)
}

pub fn refresh(numbering: &Numbering, caller: &Caller) -> String {
    let null = || "NULL".to_owned();
    let number = ":i::int8";
    let parameters = [
        numbering.grant_sql(number),
        account_sql(number),
        format!("'{}'", caller.id),
        hash_sql(number),
        "1".into(),
        hash_sql(number),
        null(),
        null(),
        null(),
        null(),
        null(),
        "'019a0000-0000-7000-8000-000000000000'".into(),
        "'019a0000-0000-7000-8000-000000000000'".into(),
        "'{\"address\": \"127.0.0.1\", \"user_agent\": \"porteiro-bench\"}'".into(),
        "false".into(),
        null(),
        null(),
        "false".into(),
        "1".into(),
        "false".into(),
    ];
    script(numbering, caller.holder, &spliced(grants::statement(), &parameters))
}

pub fn introspection(numbering: &Numbering, caller: &Caller) -> String {
    let number = ":i::int8";
    let parameters = [
        numbering.grant_sql(number),
        account_sql(number),
        format!("'{}'", caller.id),
        hash_sql(number),
        "'2000-01-01'".into(),
    ];
    script(numbering, caller.holder, &spliced(introspection::STATEMENT, &parameters))
}

/// The statements of one exchange, each a transaction: the limit, the subject's grant, the delegations, the new grant.
pub fn exchange(filled: &Filled) -> String {
    let (number, now) = (":i::int8", "(extract(epoch FROM clock_timestamp()) * 1000)::int8");
    let (grant, account) = (filled.numbering.grant_sql(number), account_sql(number));
    let (client, agent) = (format!("'{}'", filled.confidential.id), format!("'{}'", filled.agent.id));
    let new = grant_id_sql(now, ":n::int8");
    let long_ago = "'2000-01-01'::timestamptz".to_owned();
    let terms = r#"'{"level": "aal2", "auth_time": 1790000000, "amr": []}'::jsonb"#;
    let event =
        r#"'{"grant_id": "", "from_grant_id": "", "client_id": "", "audience": "", "scope": ""}'::jsonb"#;
    let personal = r#"'{"address": "127.0.0.1", "user_agent": "porteiro-bench"}'::jsonb"#;
    let statements = [
        spliced(limits::TAKE, &[hash_sql(number), "0.2".into(), "59.8".into()]),
        spliced(grants::ALIVE, &[grant.clone(), account.clone(), client, long_ago.clone()]),
        spliced(delegations::statement(), &[account.clone(), "NULL".into(), agent.clone(), long_ago]),
        spliced(
            grants::deriving_statement(),
            &[
                new.clone(),
                grant,
                account,
                agent,
                hash_sql(":n::int8"),
                "300".into(),
                literal(SCOPE),
                literal(API),
                terms.into(),
                delegation_sql(number),
                new,
                "'019a0000-0000-7000-8000-000000000000'::uuid".into(),
                personal.into(),
                event.into(),
            ],
        ),
    ];
    let statements = statements.join(";\n");
    let script = script(&filled.numbering, Holder::Person, &statements);
    format!("\\set n random(1, 280000000000000)\n{script}")
}

/// The read of a poll of any pending approval.
pub fn poll(filled: &Filled) -> String {
    let number = ":i::int8";
    let parameters = [
        account_sql(number),
        filled.numbering.grant_sql(number),
        format!("'{}'", filled.agent.id),
        hash_sql(number),
    ];
    let statement = spliced(approvals::polling_statement(), &parameters);
    format!("\\set i random(0, {})\n{statement};\n", filled.numbering.approvals() - 1)
}

/// One run.
pub async fn run(postgres: &Postgres, script: &str, concurrency: usize, seconds: u64) -> Result<Measured> {
    let folder = postgres.state.join("pgbench");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("script.sql");
    std::fs::write(&file, script)?;
    let mut command = Command::new(postgres.program("pgbench")?);
    command
        // Without it the planner looks at every partition again for each of them: slower by half.
        .env("PGOPTIONS", "-c plan_cache_mode=force_generic_plan")
        .current_dir(&folder)
        .args(["--no-vacuum", "--protocol=prepared", "--log", "--sampling-rate=0.1", "--file"])
        .arg(&file)
        .arg(format!("--client={concurrency}"))
        .arg(format!("--jobs={}", concurrency.min(2)))
        .arg(format!("--time={seconds}"))
        .arg(&postgres.url)
        .stdin(Stdio::null());
    let output = tokio::task::spawn_blocking(move || command.output()).await?.context("pgbench")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "pgbench: {}", String::from_utf8_lossy(&output.stderr));
    let number = |name: &str| -> Option<f64> {
        let line = said.lines().find(|line| line.starts_with(name))?;
        line[name.len()..].split_whitespace().next()?.parse().ok()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a count of transactions")]
    let operations =
        number("number of transactions actually processed: ").context("pgbench says no count")? as u64;
    let per_second = number("tps = ").context("pgbench says no rate")?;
    let mut micros = latencies(&folder)?;
    Ok(Measured::new(operations, per_second, &mut micros))
}

/// Third column: microseconds.
fn latencies(folder: &Path) -> Result<Vec<u32>> {
    let mut micros = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("pgbench_log")) {
            let text = std::fs::read_to_string(path)?;
            micros.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u32>().ok()));
        }
    }
    Ok(micros)
}
