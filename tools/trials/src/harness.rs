//! What every trial is built from: servers, the service, callers, relays, measurements, checks.

pub mod build_profile;
pub mod callbacks;
pub mod checks;
pub mod environment;
pub mod failure;
pub mod http;
pub mod load;
pub mod longshored;
pub mod measurement;
pub mod organization;
pub mod polling;
pub mod progress;
pub mod relays;
pub mod sample_files;
pub mod servers;
pub mod sha256;
pub mod verdict;

// What trials use most, under one name each.
pub use callbacks::callback_sink::{CallbackSink, SinkOptions};
pub use callbacks::receipts::CallbackReceipts;
pub use checks::claim_watch::LostLeases;
pub use checks::completion::CompletionReport;
pub use checks::interruption::{Interruption, InterruptionEnd, Interruptions};
pub use checks::outages::ServerOutages;
pub use checks::readiness_watch::ReadinessReport;
pub use environment::base_environment::BaseEnvironment;
pub use environment::databases::{BENCH_MEMORY, CHAOS_MEMORY, CONTROL, DatabaseLayout, SHARD};
pub use environment::deployment::{Deployment, ProcessSpec};
pub use environment::files_environment::FilesEnvironment;
pub use environment::patroni_cluster::PatroniCluster;
pub use environment::provider_environment::ProviderEnvironment;
pub use environment::trial_environment::TrialEnvironment;
pub use failure::{FailureContext, Result, TrialFailure};
pub use http::body_search::{find_bytes, find_cargo_id};
pub use http::files_client::{FilesClient, FilesResponse, StagedUpload};
pub use http::http_client::{ConnectionReuse, HttpClient, HttpRequest, HttpResponse};
pub use http::load_request::{BODY_BYTES, LoadRequests};
pub use http::s3_bucket::S3Bucket;
pub use http::service_client::ServiceClient;
pub use http::string_field;
pub use load::callback_log::CallbackLog;
pub use load::callers::ChaosCallers;
pub use load::closed_loop::{ClosedLoopLoader, LoadRound};
pub use load::load_log::{LoadLog, LoadRecord, LoadSource};
pub use load::open_loop::OfferedRate;
pub use load::question_loader::{ChatQuestion, QuestionLoader};
pub use longshored::catalogue::{FREE_MODEL, PRICED_MODEL};
pub use longshored::config_files::{
    TrialAccount, TrialAccounts, TrialProviderAccount, TrialProviderModel,
};
pub use longshored::longshored_process::{DatabaseUrls, LongshoredProcess, LongshoredProgram};
pub use measurement::cpu_usage::{CpuUsage, MeasuredProcesses};
pub use measurement::process_monitor::{MonitoredProcess, ProcessMonitor, ReadingsByProcess};
pub use measurement::statistics::{
    median, percentile, round_to, summarize, to_f64, to_milliseconds,
};
pub use organization::TrialOrganization;
pub use polling::PollLimits;
pub use progress::report_progress;
pub use relays::counting_proxy::CountingProxy;
pub use relays::faulty_relay::{FaultyRelay, RelayBehaviour};
pub use relays::faulty_server::{FaultyServer, ServerFault};
pub use relays::forwarding_proxy::{ForwardingProxy, PROXY_ADDRESS};
pub use relays::request_log::{LoggedAnswer, RequestCounts};
pub use relays::silent_relay::{SilenceDirection, SilenceEnd, SilentRelay};
pub use relays::slow_relay::SlowRelay;
pub use relays::statement_relay::{StatementKind, StatementRelay};
pub use sample_files::generated_video::GeneratedVideo;
pub use sample_files::upload_content::UploadContent;
pub use sample_files::{SampleFile, unique_hex};
pub use servers::child_process::{ChildProgram, ProgramOutput};
pub use servers::child_server::ChildServer;
pub use servers::clamd::{ClamdLimits, TrialClamdServer, eicar_test_file};
pub use servers::llama::{LLAMA_SLOTS, LlamaServer};
pub use servers::patroni::PatroniTimes;
pub use servers::postgres::{TRIALS_APPLICATION_NAME, TrialPostgresServer};
pub use servers::prometheus::{AlertRuleState, TrialPrometheusServer};
pub use servers::redis::TrialRedisServer;
pub use servers::scratch_folder::ScratchFolder;
pub use servers::seaweedfs::TrialSeaweedServer;
pub use servers::simulator_process::SimulatorProcess;
pub use servers::small_disk::SmallDisk;
pub use sha256::{StreamingSha256, sha256_hex};
pub use verdict::TrialVerdict;
pub(crate) use verdict::judge;
