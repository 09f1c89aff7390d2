//! The one table of settings: name, default, reader, help.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use domain::delivery::Schedule;
use ipnet::IpNet;
use url::Url;

use crate::settings::Reader;
use crate::settings::address::{DatabaseUrl, ShardAddress, database, optional, redis, shards};
use crate::settings::choice::{Deployment, Environment, LogFormat, Style, choice};
use crate::settings::files::{
    Origins, ScannerAddress, Secret, bucket, origins, prefix, region, scanner, secret, store,
};
use crate::settings::licence::{PublicKey, amount, public_key};
use crate::settings::parse::{
    cidrs, filter, milliseconds, name, path, schedule, seconds, socket, web, whole,
};

/// What the table says about one setting.
#[derive(Debug)]
pub struct Declaration {
    pub name: &'static str,
    pub default: &'static str,
    pub shown: Shown,
    pub help: &'static str,
}

/// Whether a value may be printed as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Plain,
    /// It holds addresses with passwords in them.
    Masked,
    /// It is a secret from end to end.
    Hidden,
}

/// One line makes the field, the row of `config` and the reader.
macro_rules! settings {
    ($($(#[$gate:meta])* $shown:ident $name:literal $field:ident: $kind:ty = $default:literal, $parse:expr, $help:literal;)*) => {
        /// Every setting, typed.
        #[derive(Debug, Clone)]
        pub struct Values {
            $($(#[$gate])* pub $field: $kind,)*
        }

        pub const TABLE: &[Declaration] = &[
            $($(#[$gate])* Declaration { name: $name, default: $default, shown: Shown::$shown, help: $help },)*
        ];

        /// Reads every row before it gives up, so that all faults are told at once.
        pub(super) fn assemble(reader: &mut Reader) -> Option<Values> {
            let mut rows = TABLE.iter();
            $($(#[$gate])* let $field: Option<$kind> = rows.next().and_then(|row| reader.take(row, $parse));)*
            Some(Values { $($(#[$gate])* $field: $field?,)* })
        }
    };
}

settings! {
    Masked "SVC_DATABASE_URL" database_url: Option<DatabaseUrl> = "", optional(database),
        "One PostgreSQL for control and for a single shard named main.";
    Masked "SVC_CONTROL_DATABASE_URL" control_database_url: Option<DatabaseUrl> = "", optional(database),
        "The control database, when it is not SVC_DATABASE_URL.";
    Masked "SVC_SHARD_DATABASE_URLS" shard_database_urls: Vec<ShardAddress> = "", shards,
        "The shards by name, such as north=postgres://…,south=postgres://…; instead of SVC_DATABASE_URL.";
    Plain "SVC_DATABASE_CONNECTIONS" database_connections: u32 = "16", whole::<u32, 4, 1_000>,
        "The most connections that one process opens to each database.";
    Masked "SVC_REDIS_URL" redis_url: Option<Url> = "", optional(redis),
        "Redis or Valkey, which counts rate limits for all nodes; without it each process limits by itself.";
    Plain "SVC_REDIS_BUDGET_MILLISECONDS" redis_budget: Duration = "20", milliseconds::<1, 60_000>,
        "How long a load may wait for Redis; after that each process limits by itself until it answers again.";
    Plain "SVC_LIMITER_CLOCK_MICROSECONDS" limiter_clock: Option<i64> = "", optional(whole::<i64, 0, 4_102_444_800_000_000>),
        "For trials: rate limits are counted at this moment (Unix time), which never passes.";

    Plain "SVC_LISTEN" listen: SocketAddr = "127.0.0.1:8080", socket,
        "Where the API listens; port 0 takes any free one.";
    Plain "SVC_PUBLIC_URL" public_url: Option<Url> = "", optional(web),
        "How browsers reach us, such as https://longshore.example; without it, http and SVC_LISTEN.";
    Plain "SVC_OIDC_ISSUER" oidc_issuer: Option<Url> = "", optional(web),
        "A house of OpenID Connect where people can sign in instead, such as https://login.example.";
    Plain "SVC_OIDC_CLIENT" oidc_client: Option<String> = "", optional(name),
        "Our name there.";
    Hidden "SVC_OIDC_SECRET" oidc_secret: Option<Secret> = "", optional(secret),
        "Our secret there; a public client has none.";
    Plain "SVC_TRUSTED_PROXIES" trusted_proxies: Vec<IpNet> = "", cidrs,
        "Ranges of proxies of ours, whose X-Forwarded-For is believed; the dashboard limits and logs by it. They may open any number of connections.";
    Plain "SVC_METRICS_LISTEN" metrics_listen: SocketAddr = "127.0.0.1:9090", socket,
        "Where /metrics is served for Prometheus; port 0 takes any free one.";
    Plain "SVC_ENVIRONMENT" environment: Environment = "production", choice,
        "production takes https callbacks only; development takes http too.";
    Plain "SVC_DEPLOYMENT" deployment: Deployment = "self_hosted", choice,
        "self_hosted reads a licence; on cloud an organization's plan is all that counts.";
    Plain "SVC_LICENCE_FILE" licence_file: Option<PathBuf> = "", path,
        "The licence of a self-hosted install, for its enterprise plan. SIGHUP reads it again.";
    Plain "SVC_LICENCE_PUBLIC_KEY" licence_public_key: Option<PublicKey> = "", optional(public_key),
        "The Ed25519 key that verifies the licence, in base64.";
    Plain "SVC_MONTHLY_TOKENS_FREE" monthly_tokens_free: Option<u64> = "5000000", amount,
        "Tokens in a calendar month (UTC) of an organization on plan free, or unlimited.";
    Plain "SVC_MONTHLY_TOKENS_STARTER" monthly_tokens_starter: Option<u64> = "100000000", amount,
        "Tokens in a calendar month (UTC) of an organization on plan starter, or unlimited.";
    Plain "SVC_MONTHLY_TOKENS_PRO" monthly_tokens_pro: Option<u64> = "1000000000", amount,
        "Tokens in a calendar month (UTC) of an organization on plan pro, or unlimited.";
    Plain "SVC_STORAGE_BYTES_FREE" storage_bytes_free: Option<u64> = "1073741824", amount,
        "Bytes that an organization on plan free may store, or unlimited. On cloud this plan has no files.";
    Plain "SVC_STORAGE_BYTES_STARTER" storage_bytes_starter: Option<u64> = "53687091200", amount,
        "Bytes that an organization on plan starter may store, or unlimited.";
    Plain "SVC_STORAGE_BYTES_PRO" storage_bytes_pro: Option<u64> = "536870912000", amount,
        "Bytes that an organization on plan pro may store, or unlimited.";
    Plain "SVC_STORAGE_FILES_FREE" storage_files_free: Option<u64> = "100", amount,
        "Files that an organization on plan free may store, or unlimited. On cloud this plan has none.";
    Plain "SVC_STORAGE_FILES_STARTER" storage_files_starter: Option<u64> = "10000", amount,
        "Files that an organization on plan starter may store, or unlimited.";
    Plain "SVC_STORAGE_FILES_PRO" storage_files_pro: Option<u64> = "100000", amount,
        "Files that an organization on plan pro may store, or unlimited.";
    Plain "SVC_UPGRADE_URL" upgrade_url: Url = "https://longshore.example/plans", web,
        "Where a caller is sent whose plan is too small.";

    Plain "SVC_MODELS_FILE" models_file: Option<PathBuf> = "", path,
        "The catalogue, a models.toml; without one there is svc-mock only. SIGHUP reads it again.";
    Plain "SVC_PROVIDERS_FILE" providers_file: Option<PathBuf> = "", path,
        "The accounts at providers, a providers.toml; without one there is the mock only.";
    Plain "SVC_MOCK_DELAY_SECONDS" mock_delay: Duration = "60", seconds::<0, 86_400>,
        "How long after its load the mock provider answers.";

    Plain "SVC_CALLBACK_RETRY_DELAYS" callback_retry_delays: Schedule = "30,120,600,1800,3600", schedule,
        "Seconds to wait before each retry of a callback.";
    Plain "SVC_CALLBACK_TIMEOUT_SECONDS" callback_timeout: Duration = "30", seconds::<1, 300>,
        "How long one attempt may take, connecting and reading included.";
    Plain "SVC_CALLBACK_ALLOW_CIDRS" callback_allow: Vec<IpNet> = "", cidrs,
        "Private ranges that callbacks may reach all the same, such as 10.0.0.0/8,fd00::/8.";
    Plain "SVC_DELIVERY_SLOTS" delivery_slots: usize = "4096", whole::<usize, 1, 100_000>,
        "The most callbacks in flight per process and shard; each takes an open file.";
    Plain "SVC_DELIVERY_SLOTS_PER_HOST" delivery_slots_per_host: usize = "256", whole::<usize, 1, 100_000>,
        "The most callbacks in flight to one host of one organization.";

    Plain "SVC_OBJECTS_URL" objects_url: Option<Url> = "", optional(store),
        "The S3-compatible object store of uploaded files; without it there are no files.";
    Plain "SVC_OBJECTS_PUBLIC_URL" objects_public_url: Option<Url> = "", optional(store),
        "Where callers reach the same store, if that is another address than ours.";
    Plain "SVC_OBJECTS_BUCKET" objects_bucket: Option<String> = "", optional(bucket),
        "The bucket, which must be there and belong to this install alone.";
    Plain "SVC_OBJECTS_REGION" objects_region: String = "us-east-1", region,
        "The region that signatures name.";
    Plain "SVC_OBJECTS_STYLE" objects_style: Style = "path", choice,
        "path puts the bucket into the path, virtual before the host.";
    Plain "SVC_OBJECTS_PREFIX" objects_prefix: String = "", prefix,
        "What every key of ours begins with, such as longshore/.";
    Hidden "SVC_OBJECTS_ACCESS_KEY" objects_access_key: Option<Secret> = "", optional(secret),
        "The access key of the store.";
    Hidden "SVC_OBJECTS_SECRET_KEY" objects_secret_key: Option<Secret> = "", optional(secret),
        "The secret key of the store.";
    Plain "SVC_OBJECTS_CORS_ORIGINS" objects_cors_origins: Origins = "*", origins,
        "The pages that may upload from a browser: * for all, or origins separated by commas.";
    Plain "SVC_UPLOAD_GRANT_SECONDS" upload_grant: Duration = "900", seconds::<1, 604_800>,
        "How long an upload permission is valid.";
    Plain "SVC_UPLOAD_ABANDON_SECONDS" upload_abandon: Duration = "86400", seconds::<1, 2_592_000>,
        "How long an upload session may stay open.";
    Plain "SVC_COMPLETE_WAIT_SECONDS" complete_wait: Duration = "10", seconds::<0, 25>,
        "How long a complete waits for the verdict before it answers 202.";
    Plain "SVC_SCANNER" scanner: Option<ScannerAddress> = "", optional(scanner),
        "The ClamAV daemon that scans every file: tcp://host:3310 or unix:/path/of/its/socket.";
    Plain "SVC_SCAN_SLOTS" scan_slots: usize = "8", whole::<usize, 1, 1_000>,
        "The most files of up to 50 MB that one process verifies at once, per shard.";
    Plain "SVC_SCAN_LARGE_SLOTS" scan_large_slots: usize = "2", whole::<usize, 1, 1_000>,
        "The most larger files that one process verifies at once, per shard.";
    Plain "SVC_SCAN_TIMEOUT_SECONDS" scan_timeout: Duration = "600", seconds::<1, 86_400>,
        "How long the scanner may take for one file.";
    Plain "SVC_PROBE_MEMORY_BYTES" probe_memory_bytes: u64 = "402653184", whole::<u64, 67_108_864, 68_719_476_736>,
        "The memory of the child process that reads one file.";
    Plain "SVC_PROBE_CPU_SECONDS" probe_cpu: Duration = "10", seconds::<1, 3_600>,
        "The processor time of the child process that reads one file.";
    Plain "SVC_PATROL_SECONDS" patrol: Duration = "3600", seconds::<1, 604_800>,
        "How often the store is compared with the rows, and what nobody wants is removed.";

    Plain "SVC_MAX_BODY_BYTES" max_body_bytes: usize = "10485760", whole::<usize, 1_024, 1_073_741_824>,
        "The largest request body (413 beyond).";
    Plain "SVC_BODY_BUDGET_BYTES" body_budget_bytes: usize = "268435456", whole::<usize, 1_048_576, 1_099_511_627_776>,
        "The most bytes of all request bodies together that one process receives at a time (503 beyond).";
    Plain "SVC_REQUEST_TIMEOUT_SECONDS" request_timeout: Duration = "30", seconds::<1, 3_600>,
        "How long a request may take to arrive, headers and body; a body has one more second for each 64 KiB.";
    Plain "SVC_MAX_CONNECTIONS" max_connections: usize = "8192", whole::<usize, 16, 1_000_000>,
        "The most open connections of callers, and at most three quarters of ulimit -n; beyond, idle and half-open ones are closed.";
    Plain "SVC_MAX_CONNECTIONS_PER_ADDRESS" max_connections_per_address: usize = "1024", whole::<usize, 1, 1_000_000>,
        "The same for one address of a caller (IPv6: one /64); loopback and SVC_TRUSTED_PROXIES are exempt.";
    Plain "SVC_MAX_MESSAGES" max_messages: usize = "1000", whole::<usize, 1, 1_000_000>,
        "The most messages in one load.";
    Plain "SVC_MAX_FILE_REFERENCES" max_file_references: usize = "100", whole::<usize, 0, 100_000>,
        "The most files that one load may name.";
    Plain "SVC_MAX_STOP_SEQUENCES" max_stop_sequences: usize = "16", whole::<usize, 0, 10_000>,
        "The most stop sequences in one load.";
    Plain "SVC_BACKSTOP_LIMIT_PER_MINUTE" backstop_per_minute: u32 = "6000", whole::<u32, 1, 4_294_967_295>,
        "Authenticated loads per project and minute (429 beyond).";
    Plain "SVC_BACKSTOP_LIMIT_PER_HOUR" backstop_per_hour: u32 = "60000", whole::<u32, 1, 4_294_967_295>,
        "Authenticated loads per project and hour (429 beyond).";
    Plain "SVC_BATCH_MAX_ITEMS" batch_max_items: usize = "1000", whole::<usize, 1, 100_000>,
        "The most cargo in one batch of the mock or of a server; accounts that take jobs have their own.";
    Plain "SVC_BATCH_LINGER_MILLISECONDS" batch_linger: Duration = "250", milliseconds::<0, 86_400_000>,
        "How long a lane of the mock or of a server rests after a batch that was not full; accounts that take jobs have their own.";

    Plain "SVC_CONTROL_STALE_SECONDS" control_stale: Duration = "900", seconds::<0, 604_800>,
        "How long known keys go on while the control database is away.";
    Plain "SVC_RETENTION_DAYS" retention_days: u32 = "30", whole::<u32, 1, 3_650>,
        "Days after which finished cargo is dropped.";
    Plain "SVC_LEASE_SECONDS" lease: Duration = "10", seconds::<3, 3_600>,
        "How long a worker may be silent before its work is taken over.";
    #[cfg(feature = "chaos")]
    Plain "SVC_CHAOS_KILL" chaos_kill: Option<workers::chaos::Kill> = "", optional(workers::chaos::Kill::parse),
        "For trials: the point at which this process kills itself, when, and for whom: dispatch.sent:1:openai.";
    Plain "SVC_DRAIN_SECONDS" drain: Duration = "35", seconds::<1, 3_600>,
        "The longest that a stop may take; give your supervisor a little more.";
    Plain "SVC_DRAIN_GRACE_MILLISECONDS" drain_grace: Duration = "1000", milliseconds::<0, 600_000>,
        "How long a stopping server still accepts, so that balancers notice first.";

    Plain "SVC_LOG" log: String = "info", filter,
        "What is logged, such as info, warn or info,workers=debug.";
    Plain "SVC_LOG_FORMAT" log_format: LogFormat = "json", choice,
        "json or text; logs go to standard error.";
}
