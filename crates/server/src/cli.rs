//! The command line. Every setting is also a flag; the flags come from the settings' own table.

use std::{path::PathBuf, sync::LazyLock};

use clap::{Arg, ArgAction, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use porteiro_protocol::jose::Algorithm;
use porteiro_service::settings;

/// The commit of the binary, if the build set `BUILD_COMMIT`. Nothing is read from the machine, so that the same
/// sources give the same binary, without git too.
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
    /// Migrate the database schema to the version that this binary expects. Safe to run on several nodes at once.
    Migrate,
    /// Manage signing keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Print the key that creates the first platform administrator. It can be used once, within an hour.
    Bootstrap,
    /// Check everything that the service needs and report problems.
    Doctor,
    /// Manage the APIs that accept tokens.
    #[command(subcommand)]
    Apis(Apis),
    /// Manage clients.
    #[command(subcommand)]
    Clients(Clients),
    /// Manage platform API keys for the management API.
    #[command(subcommand)]
    ApiKeys(ApiKeys),
    /// Manage the platform permissions of accounts.
    #[command(subcommand)]
    Platform(Platform),
    /// Manage jobs that failed too often.
    #[command(subcommand)]
    Jobs(Jobs),
    /// Call the management API with the key in PORTEIRO_API_KEY. Without an operation, list all operations.
    Admin(Admin),
    /// Check and describe the settings.
    #[command(subcommand)]
    Config(Config),
    /// Print a completion script for a shell.
    Completions { shell: clap_complete::Shell },
}

#[derive(Debug, Args)]
pub struct Serve {
    /// Run a development server: temporary keys, mail on the console, open registration, plain http on loopback.
    /// Requires only a database.
    #[arg(long)]
    pub dev: bool,
}

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Create missing keys: an active key and a next key for each algorithm.
    Generate {
        /// First write a new master key to `master_key_file`, if the file does not exist.
        #[arg(long)]
        create_master_key: bool,
        /// First erase the temporary keys of --dev. Tokens signed with them become invalid.
        #[arg(long)]
        replace_dev_keys: bool,
    },
    /// List all keys and their states.
    List,
    /// Make the next key active.
    Rotate {
        /// Only this algorithm: ES256, EdDSA, RS256 or PS256.
        #[arg(long)]
        algorithm: Option<Algorithm>,
        /// Do not wait until the next key has been published long enough. For a leaked key: clients with a cached key
        /// set may refuse tokens until they fetch it again.
        #[arg(long)]
        now: bool,
    },
    /// Unpublish a replaced key and erase its private key.
    Retire {
        /// The id of the key, as `keys list` shows it.
        // One id in sixty-four begins with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: String,
        /// Do not wait until the last token signed with it has expired. For a leaked key.
        #[arg(long)]
        now: bool,
    },
}

#[derive(Debug, Subcommand)]
pub enum Apis {
    /// Register an API from a JSON file, or replace its definition.
    Register { file: PathBuf },
    /// List all APIs.
    List,
    /// Remove an API.
    Remove { identifier: String },
}

#[derive(Debug, Subcommand)]
pub enum Clients {
    /// Create a client from a JSON file of its metadata (RFC 7591); print its id and, once, its secret.
    Create {
        file: PathBuf,
        /// unverified, verified or first_party.
        #[arg(long, default_value = "verified")]
        trust: String,
        /// default or fapi2.
        #[arg(long, default_value = "default")]
        profile: String,
    },
    /// Show the metadata and trust of a client.
    Show { client_id: String },
    /// Set the trust of a client: unverified, verified or first_party. Promotes a client that registered itself.
    Trust { client_id: String, level: String },
    /// Change the metadata of a client (RFC 7591) by a JSON file: the members that it names, null removes one
    /// (RFC 7396). Grants that depend on something removed end.
    Edit { client_id: String, file: PathBuf },
    /// Replace the secret of a client and print it once. The old secret stops working within a second; grants stay.
    RotateSecret { client_id: String },
    /// Disable a client and end its grants.
    Disable { client_id: String },
}

#[derive(Debug, Subcommand)]
pub enum ApiKeys {
    /// Create a platform API key and print it once.
    Create {
        /// The name of the key, such as its purpose.
        #[arg(long, default_value = "command line")]
        name: String,
        /// The permissions of the key, such as platform.organizations:write, separated by commas.
        #[arg(long, value_delimiter = ',', required = true)]
        permissions: Vec<String>,
        /// The number of days until it expires: 1 to 365.
        #[arg(long, default_value_t = 90)]
        days: u16,
        /// The networks from which it may be used, such as 203.0.113.0/24, separated by commas. Any network by default.
        #[arg(long, value_delimiter = ',')]
        networks: Vec<String>,
    },
    /// List platform API keys, without their secrets.
    List,
    /// Revoke a platform API key immediately and permanently.
    Revoke { id: String },
}

#[derive(Debug, Subcommand)]
pub enum Platform {
    /// Grant platform permissions to an account.
    Grant {
        account: porteiro_protocol::id::AccountId,
        #[arg(required = true)]
        permissions: Vec<porteiro_protocol::permission::Permission>,
    },
    /// Revoke platform permissions of an account.
    Revoke {
        account: porteiro_protocol::id::AccountId,
        #[arg(required = true)]
        permissions: Vec<porteiro_protocol::permission::Permission>,
    },
    /// List the accounts with platform permissions.
    List,
}

#[derive(Debug, Subcommand)]
pub enum Jobs {
    /// List parked jobs and the reasons of their failures.
    List,
    /// Retry parked jobs.
    Retry {
        /// Only this job.
        job_id: Option<porteiro_protocol::id::JobId>,
    },
}

#[derive(Debug, Args)]
pub struct Admin {
    /// The operation, such as platform_organizations.list.
    pub operation: Option<String>,
    /// The path parameters in order, then query parameters and body members as name=value.
    pub values: Vec<String>,
    /// The address of the service, if it is not base_url.
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// A file that contains the API key.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The ETag of the version that was read. Required for changes.
    #[arg(long, value_name = "ETAG")]
    pub if_match: Option<String>,
    /// The reason why a platform administrator acts in an organization. The organization can read it.
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// A key that makes it safe to repeat a command that creates something.
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// A JSON file with the complete body; '-' is standard input.
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Config {
    /// Read the settings as `serve` does and report errors.
    Check {
        /// Read them as `serve --dev` does.
        #[arg(long)]
        dev: bool,
    },
    /// Print the JSON Schema of the settings file.
    Schema,
}

/// The parsed command line.
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
