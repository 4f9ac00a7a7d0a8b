//! The command line. Every setting is also a flag; the flags come from the settings' own table.

use std::{path::PathBuf, sync::LazyLock};

use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use porteiro_protocol::jose::Algorithm;
use porteiro_service::settings;

/// What the binary was built from, where whoever built it said so (`BUILD_COMMIT`, at build time). Nothing is asked of the
/// machine, so that the same sources make the same binary, without git too.
const COMMIT: &str = match option_env!("BUILD_COMMIT") {
    Some(commit) if !commit.is_empty() => commit,
    Some(_) | None => "unknown",
};

static VERSION: LazyLock<String> = LazyLock::new(|| format!("{} ({COMMIT})", env!("CARGO_PKG_VERSION")));

/// A self-hosted identity provider for people, services and AI agents.
#[derive(Debug, Parser)]
#[command(name = "porteiro", version = VERSION.as_str(), max_term_width = 100)]
struct Cli {
    /// The settings file (TOML).
    #[arg(long, global = true, value_name = "FILE", env = "PORTEIRO_CONFIG")]
    config: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the service.
    Serve(Serve),
    /// Bring the database's schema to the one this binary expects. Safe from many nodes at once.
    Migrate,
    /// Signing keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Print the key that makes the first platform administrator. Good once, for an hour.
    Bootstrap,
    /// Look at everything the service needs and say what is wrong.
    Doctor,
    /// APIs that tokens are made for.
    #[command(subcommand)]
    Apis(Apis),
    /// Registered clients.
    #[command(subcommand)]
    Clients(Clients),
    /// Platform keys for the management API.
    #[command(subcommand)]
    ApiKeys(ApiKeys),
    /// Who may do what to the installation.
    #[command(subcommand)]
    Platform(Platform),
    /// Jobs that were tried too often.
    #[command(subcommand)]
    Jobs(Jobs),
    /// Call the management API with the key in PORTEIRO_API_KEY; without an operation, list them all.
    Admin(Admin),
    /// The settings.
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell.
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// One command to a running server: throw-away keys, mail on the console, open registration, plain http on
    /// loopback. Needs only a database.
    #[arg(long)]
    pub dev: bool,
}

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make the keys that are missing: an active and a next one for each algorithm.
    Generate {
        /// Write a new master key to `master_key_file` first, if there is no such file.
        #[arg(long)]
        create_master_key: bool,
        /// Erase the throw-away keys of --dev first. Tokens signed with them stop verifying.
        #[arg(long)]
        replace_dev_keys: bool,
    },
    /// Show every key and its state.
    List,
    /// Let the next key sign.
    Rotate {
        /// Only this algorithm: ES256, EdDSA, RS256 or PS256.
        #[arg(long)]
        algorithm: Option<Algorithm>,
        /// Do not wait until the next key was published long enough. For a leaked key: clients that cached the key
        /// set may refuse tokens until they fetch it again.
        #[arg(long)]
        now: bool,
    },
    /// Unpublish a replaced key and erase its private part.
    Retire {
        /// Its id, as `keys list` shows it.
        // One id in sixty-four begins with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: String,
        /// Do not wait until the last token it signed is dead. For a leaked key.
        #[arg(long)]
        now: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Apis {
    /// Register an API from a JSON file, or replace what was said about it.
    Register { file: PathBuf },
    /// Show every API.
    List,
    /// Remove an API.
    Remove { identifier: String },
}

#[derive(Debug, Subcommand)]
pub enum Clients {
    /// Make a client from a JSON file of its metadata (RFC 7591); prints its id and, once, its secret.
    Create {
        file: PathBuf,
        /// unverified, verified or first_party.
        #[arg(long, default_value = "verified")]
        trust: String,
        /// default or fapi2.
        #[arg(long, default_value = "default")]
        profile: String,
    },
    /// Show what a client registered and how far it is trusted.
    Show { client_id: String },
    /// Set how far a client is trusted: unverified, verified or first_party.
    Trust { client_id: String, level: String },
    /// Disable a client. What it was granted ends.
    Disable { client_id: String },
}

#[derive(Debug, Subcommand)]
pub enum ApiKeys {
    /// Make a platform key; prints it once.
    Create {
        /// What it is for.
        #[arg(long, default_value = "command line")]
        name: String,
        /// What it may do, such as platform.organizations:write; several with commas.
        #[arg(long, value_delimiter = ',', required = true)]
        permissions: Vec<String>,
        /// How long it is good for: 1 to 365.
        #[arg(long, default_value_t = 90)]
        days: u16,
        /// From where it may be used, such as 203.0.113.0/24; several with commas. From anywhere without it.
        #[arg(long, value_delimiter = ',')]
        networks: Vec<String>,
    },
    /// Show platform keys, never their secrets.
    List,
    /// Revoke a platform key, at once and for good.
    Revoke { id: String },
}

#[derive(Debug, Subcommand)]
pub enum Platform {
    /// Let a person do this to the installation.
    Grant {
        account: porteiro_protocol::id::AccountId,
        #[arg(required = true)]
        permissions: Vec<porteiro_protocol::permission::Permission>,
    },
    /// Take it back.
    Revoke {
        account: porteiro_protocol::id::AccountId,
        #[arg(required = true)]
        permissions: Vec<porteiro_protocol::permission::Permission>,
    },
    /// Show who may do what.
    List,
}

#[derive(Debug, Subcommand)]
pub enum Jobs {
    /// Show parked jobs and why they failed.
    List,
    /// Try parked jobs again.
    Retry {
        /// Only this one.
        job_id: Option<porteiro_protocol::id::JobId>,
    },
}

#[derive(Debug, Args)]
pub struct Admin {
    /// What to do, such as organizations.list.
    pub operation: Option<String>,
    /// What its path needs, in order, and then what it is given as name=value.
    pub values: Vec<String>,
    /// Where the service is, if not at base_url.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// A file that holds the key.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The ETag of what was seen. Changes need it.
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
    /// Why, where somebody of the platform acts in an organization. The organization reads it.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Makes what is created once, however often the command is repeated.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// The whole body, from a JSON file; '-' is standard input.
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Read the settings as `serve` would and say what is wrong.
    Check {
        /// As `serve --dev` would.
        #[arg(long)]
        dev: bool,
    },
    /// Print the JSON Schema of the settings file.
    Schema,
}

/// What was asked for.
#[derive(Debug)]
pub struct Invocation {
    pub command: Command,
    pub config: Option<PathBuf>,
    /// Settings given as flags, by name.
    pub flags: Vec<(String, String)>,
}

/// The command with a flag for each setting.
pub fn command() -> clap::Command {
    settings::described().into_iter().fold(Cli::command(), |command, setting| {
        command.arg(
            Arg::new(setting.name.clone())
                .long(setting.name.replace('_', "-"))
                .global(true)
                .hide_short_help(true)
                .action(ArgAction::Set)
                .value_name("VALUE")
                .allow_hyphen_values(true)
                .help_heading("Settings (also in the file and the environment)")
                .help(setting.description),
        )
    })
}

pub fn parse() -> Invocation {
    let matches = command().get_matches();
    let innermost = {
        let mut matches = &matches;
        while let Some((_, inner)) = matches.subcommand() {
            matches = inner;
        }
        matches
    };
    let flags = settings::described()
        .into_iter()
        .filter_map(|setting| {
            let value = innermost.get_one::<String>(&setting.name)?.clone();
            Some((setting.name, value))
        })
        .collect();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    Invocation { command: cli.command, config: cli.config, flags }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_id_that_begins_with_a_hyphen_can_be_retired() {
        for words in [["-i4JoBaM1sx", "--now"], ["--now", "-i4JoBaM1sx"], ["--now", "i4JoBaM1sx"]] {
            let matches = command().try_get_matches_from(["porteiro", "keys", "retire"].iter().chain(&words));
            let cli = Cli::from_arg_matches(&matches.unwrap()).unwrap();
            let Command::Keys(Keys::Retire { kid, now }) = cli.command else { panic!("{words:?}") };
            assert!(kid.ends_with("i4JoBaM1sx") && now, "{words:?}: {kid}");
        }
    }
}
