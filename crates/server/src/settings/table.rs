//! The table of all settings: name, default, parser, help.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use domain::callback_signature::SigningRoot;
use domain::durability::DurabilityPolicy;
use domain::retry_schedule::RetrySchedule;
use domain::trace_context::SampleRatio;
use http::Uri;
use ipnet::IpNet;
use outbound::master_key::MasterKeyCommand;
use url::Url;

use crate::clock::ClockSpeed;
use crate::settings::SettingsReader;
use crate::settings::address::{DatabaseUrl, ShardAddress, database, optional, redis, shards};
use crate::settings::choice::{
    AuthTime, BucketStyle, Deployment, Dropins, Environment, ListenTunnelSwitch, LogFormat,
    ObjectCredentials, PlaintextConnections, SecondFactor, SignInMethods, choice,
};
use crate::settings::collector::{CollectorHeaders, collector, collector_headers, sample_ratio};
use crate::settings::files::{
    CorsOrigins, ScannerAddress, Secret, bucket, host_and_port, origins, prefix, region, scanner,
    secret, store,
};
use crate::settings::licence::{LicencePublicKey, amount, public_key};
use crate::settings::parse::{
    cidrs, clock_speed, filter, host_names, http_url, master_key_command, master_key_id,
    milliseconds, name, path, ports, root, schedule, seconds, socket, whole_number,
};

/// One row of the table.
#[derive(Debug)]
pub struct SettingDeclaration {
    pub name: &'static str,
    pub default: &'static str,
    pub display: SettingDisplay,
    pub help: &'static str,
}

/// How a value may be printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingDisplay {
    Plain,
    /// An address: its password is hidden.
    Masked,
    /// A secret: the whole value is hidden.
    Hidden,
}

impl SettingDisplay {
    /// Whether the value may also be in a file.
    pub const fn is_secret(self) -> bool {
        match self {
            Self::Masked | Self::Hidden => true,
            Self::Plain => false,
        }
    }
}

/// One entry defines the field, the table row and the call of the parser.
macro_rules! settings {
    ($($(#[$gate:meta])* $display:ident $name:literal $field:ident: $kind:ty = $default:literal, $parse:expr, $help:literal;)*) => {
        /// The parsed value of every setting.
        #[derive(Debug, Clone)]
        pub struct SettingValues {
            $($(#[$gate])* pub $field: $kind,)*
        }

        pub const TABLE: &[SettingDeclaration] = &[
            $($(#[$gate])* SettingDeclaration { name: $name, default: $default, display: SettingDisplay::$display, help: $help },)*
        ];

        /// Parses every row before it fails, so that all errors are reported together.
        pub(super) fn assemble(reader: &mut SettingsReader) -> Option<SettingValues> {
            let mut rows = TABLE.iter();
            $($(#[$gate])* let $field: Option<$kind> = rows.next().and_then(|row| reader.parse_setting(row, $parse));)*
            Some(SettingValues { $($(#[$gate])* $field: $field?,)* })
        }
    };
}

impl SettingValues {
    /// Whether browsers send the cookies of the dashboard over https only.
    pub fn has_secure_cookies(&self) -> bool {
        let url = self.public_url.as_ref();
        url.is_some_and(|url| url.scheme() == "https")
    }
}

settings! {
    Masked "SVC_DATABASE_URL" database_url: Option<DatabaseUrl> = "", optional(database),
        "PostgreSQL address of the control database and of a single shard named main. For another machine, add ?sslmode=verify-full and, for your own authority, &sslrootcert=/path/ca.pem; for a client certificate sslcert and sslkey.";
    Masked "SVC_CONTROL_DATABASE_URL" control_database_url: Option<DatabaseUrl> = "", optional(database),
        "PostgreSQL address of the control database. Default: SVC_DATABASE_URL.";
    Masked "SVC_SHARD_DATABASE_URLS" shard_database_urls: Vec<ShardAddress> = "", shards,
        "PostgreSQL address of each shard by name (north=postgres://…,south=postgres://…). Used instead of SVC_DATABASE_URL.";
    Plain "SVC_DATABASE_CONNECTIONS" database_connections: u32 = "16", whole_number::<u32, 4, 1_000>,
        "Maximum number of connections that one process opens to each database.";
    Plain "SVC_DURABILITY" durability: Option<DurabilityPolicy> = "", optional(choice),
        "What protects accepted cargo when a database server is lost. replicated: commits wait for a standby (synchronous_standby_names), and in production serve and work do not start without. one-server: there is no such standby, and the last commits may be lost with the server. managed: a service replicates below PostgreSQL. Without it nothing changes, and doctor asks for a decision.";
    Plain "SVC_MASTER_KEY_FILE" master_key_file: Option<PathBuf> = "", path,
        "Master keys for encryption at rest, one per line: an id, a space and 32 bytes in base64 (openssl rand -base64 32). The first one wraps new data keys; keep the others while data keys are wrapped by them. Set the same for serve, work and admin. Restart to apply changes.";
    Plain "SVC_MASTER_KEY_COMMAND" master_key_command: Option<MasterKeyCommand> = "", optional(master_key_command),
        "Program that wraps and unwraps data keys with a key management service, instead of SVC_MASTER_KEY_FILE: an absolute path and arguments, started without a shell. It is called with wrap ID or unwrap ID, reads base64 from standard input and writes base64 to standard output within 10 seconds.";
    Plain "SVC_MASTER_KEY_ID" master_key_id: Option<String> = "", optional(master_key_id),
        "The id that SVC_MASTER_KEY_COMMAND is called with to wrap new data keys. Required with it.";
    Masked "SVC_REDIS_URL" redis_url: Option<Url> = "", optional(redis),
        "Address of Redis or Valkey, which counts rate limits for all processes. Without it, each process enforces its own share of every limit.";
    Plain "SVC_REDIS_CA_FILE" redis_ca_file: Option<PathBuf> = "", path,
        "PEM file of the authorities that the certificate of Redis is verified with, for a rediss:// address. Default: the authorities of the host.";
    Plain "SVC_REDIS_CERT_FILE" redis_cert_file: Option<PathBuf> = "", path,
        "PEM file of the client certificate for Redis. Required with SVC_REDIS_KEY_FILE.";
    Plain "SVC_REDIS_KEY_FILE" redis_key_file: Option<PathBuf> = "", path,
        "PEM file of the private key of SVC_REDIS_CERT_FILE.";
    Plain "SVC_PLAINTEXT_CONNECTIONS" plaintext_connections: PlaintextConnections = "refuse", choice,
        "refuse: in production, PostgreSQL and Redis on other machines must be reached with TLS. allow: also without, if your network protects these connections.";
    Plain "SVC_REDIS_BUDGET_MILLISECONDS" redis_budget: Duration = "20", milliseconds::<1, 60_000>,
        "Maximum time that a load waits for Redis. After that, each process enforces its own share of every limit until Redis answers again.";
    Plain "SVC_LIMITER_CLOCK_MICROSECONDS" limiter_clock: Option<i64> = "", optional(whole_number::<i64, 0, 4_102_444_800_000_000>),
        "For tests: stops the clock of the rate limiter at this Unix time, so that limits never refill.";
    Plain "SVC_CLOCK_SPEED" clock_speed: Option<ClockSpeed> = "", optional(clock_speed),
        "For tests: lets the time of all shards pass faster. 60@1763380000000000 is 60 times as fast from this Unix time in microseconds on. Set the same for serve and work.";

    Plain "SVC_LISTEN" listen: SocketAddr = "127.0.0.1:8080", socket,
        "Address and port of the API and the dashboard. Port 0 picks a free port.";
    Plain "SVC_PUBLIC_URL" public_url: Option<Url> = "", optional(http_url),
        "URL under which browsers reach this server, such as https://longshore.example. Default: http and the address of SVC_LISTEN.";
    Plain "SVC_GUIDE_DIR" guide_dir: Option<PathBuf> = "", path,
        "Folder with the documents of this version, as ./dev book writes them. longshored serve shows them under /guide. Restart to apply changes.";
    Plain "SVC_OIDC_ISSUER" oidc_issuer: Option<Url> = "", optional(http_url),
        "Issuer URL of an OpenID Connect provider for single sign-on, such as https://login.example.";
    Plain "SVC_OIDC_CLIENT" oidc_client: Option<String> = "", optional(name),
        "OpenID Connect client ID. Required with SVC_OIDC_ISSUER.";
    Hidden "SVC_OIDC_SECRET" oidc_secret: Option<Secret> = "", optional(secret),
        "OpenID Connect client secret. Leave it empty for a public client.";
    Plain "SVC_OIDC_AUTH_TIME" oidc_auth_time: AuthTime = "required", choice,
        "required: who confirms a change with single sign-on must sign in again, and the ID token must say so (auth_time). optional: also without auth_time, for providers that never send it.";
    Plain "SVC_SIGN_IN" sign_in: SignInMethods = "password_and_sso", choice,
        "How people sign in: password_and_sso, or sso for single sign-on only. With sso, passwords and password resets are refused; longshored admin person link makes a link with which an operator signs in once.";
    Plain "SVC_SECOND_FACTOR" second_factor: SecondFactor = "optional", choice,
        "Who must sign in with a second factor (TOTP or single sign-on): optional, operators or everyone. Owners can also require it of the members of their organization.";
    Plain "SVC_SESSION_LIFETIME_SECONDS" session_lifetime: Duration = "2592000", seconds::<300, 31_536_000>,
        "How long after signing in a person must sign in again, however often the session is used. A session without use ends after a week.";
    Plain "SVC_TRUSTED_PROXIES" trusted_proxies: Vec<IpNet> = "", cidrs,
        "Address ranges of your reverse proxies. The client address for limits, logs and the scopes of API keys is the rightmost in their X-Forwarded-For that is not in these ranges. They may open any number of connections; SVC_MAX_CONNECTIONS_PER_ADDRESS limits the requests of each client behind them.";
    Plain "SVC_METRICS_LISTEN" metrics_listen: SocketAddr = "127.0.0.1:9090", socket,
        "Address and port of the Prometheus endpoint /metrics. Port 0 picks a free port.";
    Plain "SVC_ENVIRONMENT" environment: Environment = "production", choice,
        "production accepts and calls https callback URLs only, and requires TLS to PostgreSQL and Redis on other machines; development also allows http and plain connections. Set the same value for serve and work.";
    Plain "SVC_DEPLOYMENT" deployment: Deployment = "self_hosted", choice,
        "self_hosted reads a licence; cloud ignores licences and applies only each organization's plan.";
    Plain "SVC_LICENCE_FILE" licence_file: Option<PathBuf> = "", path,
        "Licence file for the enterprise plan of a self-hosted installation. Send SIGHUP to reload it.";
    Plain "SVC_LICENCE_PUBLIC_KEY" licence_public_key: Option<LicencePublicKey> = "", optional(public_key),
        "Ed25519 public key that verifies the licence, in base64.";
    Plain "SVC_MONTHLY_TOKENS_FREE" monthly_tokens_free: Option<u64> = "5000000", amount,
        "Tokens per calendar month (UTC) for an organization on the free plan, or unlimited.";
    Plain "SVC_MONTHLY_TOKENS_STARTER" monthly_tokens_starter: Option<u64> = "100000000", amount,
        "Tokens per calendar month (UTC) for an organization on the starter plan, or unlimited.";
    Plain "SVC_MONTHLY_TOKENS_PRO" monthly_tokens_pro: Option<u64> = "1000000000", amount,
        "Tokens per calendar month (UTC) for an organization on the pro plan, or unlimited.";
    Plain "SVC_STORAGE_BYTES_FREE" storage_bytes_free: Option<u64> = "1073741824", amount,
        "Bytes that an organization on the free plan may store, or unlimited. With SVC_DEPLOYMENT=cloud this plan has no files.";
    Plain "SVC_STORAGE_BYTES_STARTER" storage_bytes_starter: Option<u64> = "53687091200", amount,
        "Bytes that an organization on the starter plan may store, or unlimited.";
    Plain "SVC_STORAGE_BYTES_PRO" storage_bytes_pro: Option<u64> = "536870912000", amount,
        "Bytes that an organization on the pro plan may store, or unlimited.";
    Plain "SVC_STORAGE_FILES_FREE" storage_files_free: Option<u64> = "100", amount,
        "Files that an organization on the free plan may store, or unlimited. With SVC_DEPLOYMENT=cloud this plan has no files.";
    Plain "SVC_STORAGE_FILES_STARTER" storage_files_starter: Option<u64> = "10000", amount,
        "Files that an organization on the starter plan may store, or unlimited.";
    Plain "SVC_STORAGE_FILES_PRO" storage_files_pro: Option<u64> = "100000", amount,
        "Files that an organization on the pro plan may store, or unlimited.";
    Plain "SVC_UPGRADE_URL" upgrade_url: Url = "https://longshore.example/plans", http_url,
        "Page for upgrading the plan; API errors about plan limits link to it.";

    Plain "SVC_MODELS_FILE" models_file: Option<PathBuf> = "", path,
        "Model catalogue (models.toml). Without it, svc-mock is the only model. Send SIGHUP to reload it.";
    Plain "SVC_PROVIDERS_FILE" providers_file: Option<PathBuf> = "", path,
        "Provider accounts (providers.toml). Without it, the mock provider is the only one. Restart to apply changes.";
    Plain "SVC_MOCK_DELAY_SECONDS" mock_delay: Duration = "60", seconds::<0, 86_400>,
        "How long the mock provider waits after a load before it answers.";

    Plain "SVC_CALLBACK_RETRY_DELAYS" callback_retry_delays: RetrySchedule = "30,120,600,1800,3600", schedule,
        "Seconds to wait before each retry of a callback, separated by commas.";
    Plain "SVC_CALLBACK_TIMEOUT_SECONDS" callback_timeout: Duration = "30", seconds::<1, 300>,
        "Maximum duration of one callback attempt, including connecting and reading the response.";
    Plain "SVC_LISTEN_TUNNEL" listen_tunnel: ListenTunnelSwitch = "on", choice,
        "on: a load may name listen://NAME as its callback_url, and a program that listens under that name with the project's API key gets the callbacks (GET /listen). off: such a URL is refused. Set the same for serve and work.";
    Plain "SVC_CALLBACK_ALLOW_CIDRS" callback_allow: Vec<IpNet> = "", cidrs,
        "Private address ranges that callbacks may reach, such as 10.0.0.0/8,fd00::/8. By default callbacks reach public addresses only.";
    Plain "SVC_CALLBACK_DENY_CIDRS" callback_deny: Vec<IpNet> = "", cidrs,
        "Address ranges that callbacks never reach, such as the public addresses of your own systems. They win over SVC_CALLBACK_ALLOW_CIDRS.";
    Plain "SVC_CALLBACK_DENY_HOSTS" callback_deny_hosts: Vec<String> = "", host_names,
        "Host names that callbacks never reach, with all names below them, such as corp.example,localhost.";
    Plain "SVC_CALLBACK_PORTS" callback_ports: Vec<RangeInclusive<u16>> = "", ports,
        "Ports that callbacks may reach, such as 443,8000-8999. Empty means all.";
    Hidden "SVC_SIGNING_ROOT" signing_root: Option<SigningRoot> = "", optional(root),
        "32 random bytes in base64, such as openssl rand -base64 32 prints. The secrets of signed callbacks and the key that encrypts TOTP secrets are derived from it. Set the same value for serve and work, and keep a copy: another value changes every secret.";
    Hidden "SVC_SIGNING_ROOT_PREVIOUS" signing_root_previous: Option<SigningRoot> = "", optional(root),
        "The SVC_SIGNING_ROOT before this one, while receivers change their secrets. Its secrets sign too.";
    Plain "SVC_DELIVERY_SLOTS" delivery_slots: usize = "4096", whole_number::<usize, 1, 100_000>,
        "Maximum number of callbacks in flight per process and shard. Each one uses an open file.";
    Plain "SVC_DELIVERY_SLOTS_PER_HOST" delivery_slots_per_host: usize = "256", whole_number::<usize, 1, 100_000>,
        "Maximum number of callbacks in flight to one host of one organization.";

    Plain "SVC_OBJECTS_URL" objects_url: Option<Url> = "", optional(store),
        "URL of the S3-compatible object store for uploaded files. Without it, files are disabled.";
    Plain "SVC_OBJECTS_PUBLIC_URL" objects_public_url: Option<Url> = "", optional(store),
        "URL under which callers reach the object store, if it differs from SVC_OBJECTS_URL.";
    Plain "SVC_OBJECTS_PUBLIC_CONNECT" objects_public_connect: Option<String> = "", optional(host_and_port),
        "Host and port that Longshore connects to when it tests SVC_OBJECTS_PUBLIC_URL, such as objects:8333. Set it if this URL cannot be reached from here. The requests still name the public host.";
    Plain "SVC_OBJECTS_BUCKET" objects_bucket: Option<String> = "", optional(bucket),
        "Bucket for uploaded files. It must exist and belong to this installation alone.";
    Plain "SVC_OBJECTS_REGION" objects_region: String = "us-east-1", region,
        "Region in the request signatures to the object store.";
    Plain "SVC_OBJECTS_STYLE" objects_style: BucketStyle = "path", choice,
        "Where the bucket name goes: path (host/bucket) or virtual (bucket.host).";
    Plain "SVC_OBJECTS_PREFIX" objects_prefix: String = "", prefix,
        "Prefix of every object key, such as longshore/.";
    Plain "SVC_OBJECTS_CREDENTIALS" objects_credentials: ObjectCredentials = "static", choice,
        "Where the credentials of the object store come from: static (SVC_OBJECTS_ACCESS_KEY and SVC_OBJECTS_SECRET_KEY) or environment (an IAM role: web identity, container credentials or EC2 instance metadata, as the AWS_… variables say).";
    Hidden "SVC_OBJECTS_ACCESS_KEY" objects_access_key: Option<Secret> = "", optional(secret),
        "Access key of the object store.";
    Hidden "SVC_OBJECTS_SECRET_KEY" objects_secret_key: Option<Secret> = "", optional(secret),
        "Secret key of the object store.";
    Plain "SVC_OBJECTS_CORS_ORIGINS" objects_cors_origins: CorsOrigins = "*", origins,
        "Web origins that may upload from a browser: * for all, or a list separated by commas.";
    Plain "SVC_UPLOAD_GRANT_SECONDS" upload_grant: Duration = "900", seconds::<1, 604_800>,
        "How long a presigned upload grant is valid.";
    Plain "SVC_UPLOAD_ABANDON_SECONDS" upload_abandon: Duration = "86400", seconds::<1, 2_592_000>,
        "How long an upload may stay incomplete before it fails.";
    Plain "SVC_COMPLETE_WAIT_SECONDS" complete_wait: Duration = "10", seconds::<0, 25>,
        "How long a complete request waits for the scan result before it answers 202.";
    Plain "SVC_SCANNER" scanner: Option<ScannerAddress> = "", optional(scanner),
        "Address of the ClamAV daemon that scans every file: tcp://host:3310 or unix:/path/of/its/socket.";
    Plain "SVC_SCAN_SLOTS" scan_slots: usize = "8", whole_number::<usize, 1, 1_000>,
        "Maximum number of files up to 50 MB that one process verifies at the same time, per shard.";
    Plain "SVC_SCAN_LARGE_SLOTS" scan_large_slots: usize = "2", whole_number::<usize, 1, 1_000>,
        "Maximum number of files over 50 MB that one process verifies at the same time, per shard.";
    Plain "SVC_SCAN_TIMEOUT_SECONDS" scan_timeout: Duration = "600", seconds::<1, 86_400>,
        "Maximum time that the scanner may take for one file.";
    Plain "SVC_PROBE_MEMORY_BYTES" probe_memory_bytes: u64 = "402653184", whole_number::<u64, 67_108_864, 68_719_476_736>,
        "Memory limit of the child process that parses one file.";
    Plain "SVC_PROBE_CPU_SECONDS" probe_cpu: Duration = "10", seconds::<1, 3_600>,
        "CPU time limit of the child process that parses one file.";
    Plain "SVC_PATROL_SECONDS" patrol: Duration = "3600", seconds::<1, 604_800>,
        "How often the object store is compared with the database. Objects that no row refers to are removed.";

    Plain "SVC_MAX_BODY_BYTES" max_body_bytes: usize = "10485760", whole_number::<usize, 1_024, 1_073_741_824>,
        "Maximum size of a request body. Larger requests are refused with 413.";
    Plain "SVC_DROPINS" dropins: Dropins = "on", choice,
        "on: also serves Anthropic's Message Batches under /anthropic and OpenAI's Batches under /openai, so that their clients work with another base URL. off: these paths answer 404.";
    Plain "SVC_BODY_BUDGET_BYTES" body_budget_bytes: usize = "268435456", whole_number::<usize, 1_048_576, 1_099_511_627_776>,
        "Maximum bytes of all request bodies that one process receives at the same time. Requests beyond it are refused with 503.";
    Plain "SVC_REQUEST_TIMEOUT_SECONDS" request_timeout: Duration = "30", seconds::<1, 3_600>,
        "How long a request may take to arrive, headers and body. A body gets one more second for each 64 KiB.";
    Plain "SVC_MAX_CONNECTIONS" max_connections: usize = "8192", whole_number::<usize, 16, 1_000_000>,
        "Maximum number of open client connections, at most three quarters of ulimit -n. Beyond it, idle, half-open and unread connections are closed, first those without an authenticated request; when all are busy, new ones get 503.";
    Plain "SVC_MAX_CONNECTIONS_PER_ADDRESS" max_connections_per_address: usize = "1024", whole_number::<usize, 1, 1_000_000>,
        "The same limit for one client address (IPv6: one /64). Loopback and SVC_TRUSTED_PROXIES are exempt; behind them it limits the requests in progress of each forwarded client.";
    Plain "SVC_WAIT_MAX_SECONDS" wait_max: Duration = "50", seconds::<1, 60>,
        "Maximum time that a request with wait waits for its cargo (long-poll). Keep it below the timeout of your load balancer, which is often 60 seconds.";
    Plain "SVC_MAX_LIVE_STREAMS" max_live_streams: usize = "512", whole_number::<usize, 1, 100_000>,
        "Maximum number of dashboard pages that one process updates live. Further pages are shown, but not updated.";
    Plain "SVC_MAX_LIVE_STREAMS_PER_PERSON" max_live_streams_per_person: usize = "32", whole_number::<usize, 1, 100_000>,
        "The same limit for one signed-in person.";
    Plain "SVC_MAX_MESSAGES" max_messages: usize = "1000", whole_number::<usize, 1, 1_000_000>,
        "Maximum number of messages in one load.";
    Plain "SVC_MAX_FILE_REFERENCES" max_file_references: usize = "100", whole_number::<usize, 0, 100_000>,
        "Maximum number of files that one load may reference.";
    Plain "SVC_MAX_STOP_SEQUENCES" max_stop_sequences: usize = "16", whole_number::<usize, 0, 10_000>,
        "Maximum number of stop sequences in one load.";
    Plain "SVC_BACKSTOP_LIMIT_PER_MINUTE" backstop_per_minute: u32 = "6000", whole_number::<u32, 1, 4_294_967_295>,
        "Maximum number of authenticated loads per project and minute. Loads beyond it are refused with 429.";
    Plain "SVC_BACKSTOP_LIMIT_PER_HOUR" backstop_per_hour: u32 = "60000", whole_number::<u32, 1, 4_294_967_295>,
        "Maximum number of authenticated loads per project and hour. Loads beyond it are refused with 429.";
    Plain "SVC_READ_LIMIT_PER_MINUTE" read_limit_per_minute: u32 = "60000", whole_number::<u32, 1, 4_294_967_295>,
        "Maximum number of tracking and file reads per project and minute in one process. Requests beyond it are refused with 429.";
    Plain "SVC_FILE_WRITE_LIMIT_PER_MINUTE" file_write_limit_per_minute: u32 = "6000", whole_number::<u32, 1, 4_294_967_295>,
        "Maximum number of requests per project and minute in one process that create, complete, change or delete files. Requests beyond it are refused with 429.";
    Plain "SVC_DASHBOARD_LIMIT_PER_MINUTE" dashboard_limit_per_minute: u32 = "6000", whole_number::<u32, 1, 4_294_967_295>,
        "Maximum number of dashboard requests per signed-in person and minute in one process. Requests beyond it are refused with 429.";
    Plain "SVC_BATCH_MAX_ITEMS" batch_max_items: usize = "1000", whole_number::<usize, 1, 100_000>,
        "Maximum number of cargo in one batch for the mock provider or a server. Accounts with batch jobs use limits.job_items of SVC_PROVIDERS_FILE.";
    Plain "SVC_BATCH_LINGER_MILLISECONDS" batch_linger: Duration = "250", milliseconds::<0, 86_400_000>,
        "How long a lane of the mock provider or a server collects cargo after a batch that was not full. Accounts with batch jobs use limits.linger_seconds of SVC_PROVIDERS_FILE.";

    Plain "SVC_CONTROL_STALE_SECONDS" control_stale: Duration = "900", seconds::<0, 604_800>,
        "How long known API keys keep working while the control database is unreachable.";
    Plain "SVC_RETENTION_DAYS" retention_days: u32 = "30", whole_number::<u32, 1, 3_650>,
        "Days after which finished cargo is deleted.";
    Plain "SVC_LEDGER_RETENTION_DAYS" ledger_retention_days: u32 = "400", whole_number::<u32, 92, 36_500>,
        "Days after which postings leave the ledger; an opening balance stands for them. Postings that settle kept cargo stay.";
    Plain "SVC_USAGE_RETENTION_DAYS" usage_retention_days: u32 = "760", whole_number::<u32, 92, 36_500>,
        "Days after which usage counts are deleted. Counts by the hour are summed to days after 35 days, or SVC_RETENTION_DAYS if that is longer.";
    Plain "SVC_AUDIT_RETENTION_DAYS" audit_retention_days: u32 = "760", whole_number::<u32, 92, 36_500>,
        "Days after which entries of the audit log are deleted. With SVC_AUDIT_FILE, entries that are not in the file yet stay.";
    Plain "SVC_LEASE_SECONDS" lease: Duration = "10", seconds::<3, 3_600>,
        "How long a worker may miss its heartbeats before other workers take over its work.";
    #[cfg(feature = "chaos")]
    Plain "SVC_CHAOS_KILL" chaos_kill: Option<workers::failpoint::Failpoint> = "", optional(workers::failpoint::Failpoint::parse),
        "For chaos tests: the failpoint at which this process kills itself, on which hit and for which provider, such as dispatch.sent:1:openai.";
    Plain "SVC_DRAIN_SECONDS" drain: Duration = "35", seconds::<1, 3_600>,
        "Maximum duration of a graceful shutdown. Give your process supervisor a few seconds more.";
    Plain "SVC_DRAIN_GRACE_MILLISECONDS" drain_grace: Duration = "1000", milliseconds::<0, 600_000>,
        "How long a stopping server still accepts connections, so that load balancers notice first.";

    Plain "SVC_LOG" log: String = "info", filter,
        "Log filter, such as info, warn or info,workers=debug.";
    Plain "SVC_LOG_FORMAT" log_format: LogFormat = "json", choice,
        "Log format: json or text. Logs go to standard error.";
    Plain "SVC_AUDIT_FILE" audit_file: Option<PathBuf> = "", path,
        "File to which longshored serve appends the audit log as JSON lines, for a SIEM, or - for standard output. Of several processes with this setting, one writes at a time. Rename the file to rotate it.";

    Plain "SVC_TRACING_ENDPOINT" tracing_endpoint: Option<Uri> = "", optional(collector),
        "URL of a collector to which spans are exported by OTLP over HTTP as JSON, such as http://collector:4318; /v1/traces is added if it has no path. Without it, nothing is traced. Set the same for serve and work.";
    Plain "SVC_TRACING_SAMPLE" tracing_sample: SampleRatio = "0.01", sample_ratio,
        "Share of loads that is traced, from 0 to 1. A caller that sends traceparent decides for its own loads.";
    Hidden "SVC_TRACING_HEADERS" tracing_headers: CollectorHeaders = "", collector_headers,
        "Headers that are sent to the collector, such as authorization=Basic dXNlcjpwYXNz, separated by commas.";
}
