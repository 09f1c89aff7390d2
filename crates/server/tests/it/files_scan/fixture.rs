//! A fixture for tests of files: a shard, an object store, a malware scanner and a worker set.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::callback_url::AllowedSchemes;
use domain::file::{DEFAULT_TTL_SECONDS, FileDeclaration, MediaType};
use domain::history_retention::HistoryRetention;
use domain::id::{Berth, FileId, OrganizationId, ProjectId};
use domain::model::Catalogue;
use domain::storage_quota::{StorageQuota, StorageUsage};
use domain::time::{Clock as _, Timestamp};
use outbound::callback::HttpCallbackClient;
use outbound::health::{DependencyHealth, FilesHealth};
use outbound::malware_scanner::{ClamdAddress, MalwareScanner};
use outbound::object_store::{ObjectArea, ObjectStore, Options};
use outbound::probe::Prober;
use store::Shard;
use store::shard::file::{self, FileCreation, FileRow, NewFile, UploadCompletion, UploadPart};
use store::shard::{account, node};
use test_support::clock::ManualClock;
use test_support::database::TestDatabase;
use test_support::environment::required_variable;
use test_support::object_store::{digest, object_store_with, options, post_form, send};
use tokio::sync::watch;
use workers::{
    CallbackLimits, FileStageDeps, PackingLimits, Providers, ScanSlots, WorkerSet, WorkerSetDeps,
};

const SCANNER_VARIABLE: &str = "LONGSHORE_TEST_SCANNER";

pub(crate) struct FileStageFixture {
    pub(crate) shard: Arc<Shard>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) objects: ObjectStore,
    pub(crate) options: Options,
    pub(crate) worker_set: WorkerSet,
    pub(crate) deps: WorkerSetDeps,
    pub(crate) health: watch::Sender<FilesHealth>,
    pub(crate) organization: OrganizationId,
    pub(crate) project: ProjectId,
    _database: TestDatabase,
}

impl FileStageFixture {
    pub(crate) async fn new() -> Self {
        Self::with_deps(|files| files).await
    }

    /// A fixture whose worker set has changed dependencies.
    pub(crate) async fn with_deps(change: impl FnOnce(FileStageDeps) -> FileStageDeps) -> Self {
        let database = TestDatabase::new().await;
        let (shard, clock) = (database.shard.clone(), database.clock.clone());
        let well = FilesHealth {
            credentials: DependencyHealth::NotConfigured,
            store: DependencyHealth::Healthy,
            scanner: DependencyHealth::Healthy,
            probe: DependencyHealth::Healthy,
        };
        let (health, watched) = watch::channel(well);
        let options = options();
        let objects = connect_store(&options, &options.internal).await;
        let files = change(file_stage_deps(objects.clone(), watched));
        let parts = worker_set_deps(shard.clone(), files);
        let workers = WorkerSet::join(parts.clone()).await.unwrap();
        let berth = Berth::new(0x0a1).unwrap();
        let now = clock.now();
        let organization = OrganizationId::new(now, berth, rand::random());
        account::open(&shard, organization, now).await.unwrap();
        Self {
            shard,
            clock,
            objects,
            options,
            worker_set: workers,
            deps: parts,
            health,
            organization,
            project: ProjectId::new(now, berth, rand::random()),
            _database: database,
        }
    }

    /// Joins as another worker process.
    pub(crate) async fn join_another_worker_set(
        &self,
        change: impl FnOnce(FileStageDeps) -> FileStageDeps,
    ) -> WorkerSet {
        let mut parts = self.deps.clone();
        parts.files = parts.files.map(change);
        parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
        WorkerSet::join(parts).await.unwrap()
    }

    /// Expires every lease, as ten seconds without a heartbeat would.
    pub(crate) async fn expire_leases(&self) {
        let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                         where dead_at is null";
        sqlx::raw_sql(statement)
            .execute(&self.shard.pool)
            .await
            .unwrap();
        node::fence_expired_nodes(&self.shard).await.unwrap();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Creates an upload session for these bytes.
    pub(crate) async fn create_session(&self, bytes: &[u8], media_type: MediaType) -> FileRow {
        let created = self.create_file(declaration(bytes, media_type)).await;
        created_session(created).unwrap()
    }

    pub(crate) async fn create_file(&self, declared: FileDeclaration) -> FileCreation {
        let (berth, now) = (self.organization.berth(), self.now());
        let new = NewFile {
            id: FileId::new(now, berth, rand::random()),
            organization: self.organization,
            project: self.project,
            filename: "manifest".to_owned(),
            declared,
            ttl_seconds: DEFAULT_TTL_SECONDS,
            metadata: None,
            part_checksums: None,
        };
        let created = file::create(&self.shard, &new, StorageQuota::default(), now).await;
        created.unwrap()
    }

    /// Puts bytes into staging, also other bytes than declared.
    pub(crate) async fn put_staged(&self, file: &FileRow, bytes: &[u8]) {
        let grant = self
            .objects
            .post_grant(file.id, &declaration(bytes, file.media_type))
            .unwrap();
        let sent = post_form(&grant, bytes).await;
        assert_eq!(sent.status / 100, 2, "{sent:?}");
    }

    /// Uploads bytes in parts, and returns the list that a caller completes with.
    pub(crate) async fn put_staged_parts(
        &self,
        file: &FileRow,
        parts: &[&[u8]],
    ) -> Vec<UploadPart> {
        let begun = self
            .objects
            .begin_multipart(file.id, file.media_type, false)
            .await;
        let upload = begun.unwrap();
        assert!(
            file::record_upload(&self.shard, file.id, &upload)
                .await
                .unwrap()
        );
        let mut listed = Vec::new();
        for (number, bytes) in (1..).zip(parts) {
            let etag = self.put_part(file, &upload, number, bytes).await;
            let checksum = Some(digest(bytes));
            listed.push(UploadPart { etag, checksum });
        }
        listed
    }

    async fn put_part(&self, file: &FileRow, upload: &str, number: u32, bytes: &[u8]) -> String {
        // Signed for the length of these bytes, not for the declared one.
        let before = u64::from(number - 1) * domain::upload::PART_BYTES;
        let size = before + u64::try_from(bytes.len()).unwrap();
        let grants = self
            .objects
            .part_grants(file.id, upload, size, &[number], None)
            .unwrap();
        let sent = send("PUT", &grants.parts[0].1, &[], bytes).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        sent.header("etag").unwrap()
    }

    pub(crate) async fn complete(&self, file: &FileRow, parts: Option<&[UploadPart]>) {
        let completed = file::complete(&self.shard, self.project, file.id, parts, self.now()).await;
        assert!(matches!(
            completed.unwrap(),
            UploadCompletion::ValidationStarted(_)
        ));
    }

    /// Uploads and completes a file, which is not scanned yet.
    pub(crate) async fn upload_and_complete(&self, bytes: &[u8], media_type: MediaType) -> FileRow {
        let file = self.create_session(bytes, media_type).await;
        self.put_staged(&file, bytes).await;
        self.complete(&file, None).await;
        file
    }

    pub(crate) async fn scan(&mut self) {
        let now = self.now();
        self.worker_set.scan.run_until_idle(now).await.unwrap();
    }

    pub(crate) async fn find(&self, file: &FileRow) -> FileRow {
        let found = file::find(&self.shard, self.project, file.id).await;
        found.unwrap().unwrap()
    }

    /// Status, failure reason and scan status.
    pub(crate) async fn status(&self, file: &FileRow) -> String {
        let file = self.find(file).await;
        let reason = file
            .failure_reason
            .map_or("-", domain::file::FileFailureReason::as_str);
        format!(
            "{} {reason} {}",
            file.status.as_str(),
            file.scan_status.as_str()
        )
    }

    /// How many objects the store has, in staging and published.
    pub(crate) async fn count_objects(&self) -> (usize, usize) {
        let berth = self.organization.berth();
        let staged = self
            .objects
            .list_objects(ObjectArea::Staging, berth, None)
            .await
            .unwrap();
        let published = self
            .objects
            .list_objects(ObjectArea::Published, berth, None)
            .await
            .unwrap();
        (staged.objects.len(), published.objects.len())
    }

    pub(crate) async fn count_open_uploads(&self) -> usize {
        let open = self
            .objects
            .list_multipart_uploads(self.organization.berth())
            .await;
        open.unwrap().len()
    }

    /// The storage usage of the organization, according to its row.
    pub(crate) async fn storage_usage(&self) -> StorageUsage {
        let row = "select array[files, bytes] from shard.storage where organization = $1";
        let row = sqlx::query_scalar::<_, Vec<i64>>(row).bind(self.organization.uuid());
        let row = row.fetch_one(&self.shard.pool).await.unwrap();
        StorageUsage {
            files: u64::try_from(row[0]).unwrap(),
            bytes: u64::try_from(row[1]).unwrap(),
        }
    }

    pub(crate) async fn execute(&self, statement: &'static str) {
        sqlx::raw_sql(statement)
            .execute(&self.shard.pool)
            .await
            .unwrap();
    }
}

/// Connects to the same bucket and prefix at another address.
pub(crate) async fn connect_store(options: &Options, at: &url::Url) -> ObjectStore {
    let (internal, options) = (at.clone(), options.clone());
    object_store_with(Options {
        internal,
        ..options
    })
    .await
}

pub(crate) fn created_session(created: FileCreation) -> Option<FileRow> {
    match created {
        FileCreation::Session(file) => Some(file),
        FileCreation::Duplicate(_) | FileCreation::Refused(_) => None,
    }
}

pub(crate) fn declaration(bytes: &[u8], media_type: MediaType) -> FileDeclaration {
    FileDeclaration {
        media_type,
        size_bytes: u64::try_from(bytes.len()).unwrap(),
        sha256: digest(bytes),
    }
}

pub(crate) fn test_scanner() -> MalwareScanner {
    let address = required_variable(SCANNER_VARIABLE);
    scanner_at(address.strip_prefix("tcp://").unwrap())
}

pub(crate) fn scanner_at(address: &str) -> MalwareScanner {
    MalwareScanner::new(
        ClamdAddress::Tcp(address.to_owned()),
        Duration::from_secs(30),
    )
}

fn file_stage_deps(objects: ObjectStore, health: watch::Receiver<FilesHealth>) -> FileStageDeps {
    FileStageDeps {
        objects,
        scanner: test_scanner(),
        prober: Prober::new(PathBuf::from(env!("CARGO_BIN_EXE_longshored"))),
        slots: ScanSlots { small: 8, large: 2 },
        abandon_after: TimeDelta::days(1),
        patrol_interval: TimeDelta::hours(1),
        // Negative, so that no object counts as young.
        grace: TimeDelta::hours(-1),
        health,
    }
}

fn worker_set_deps(shard: Arc<Shard>, files: FileStageDeps) -> WorkerSetDeps {
    let callbacks = HttpCallbackClient::new(outbound::callback::Options {
        timeout: Duration::from_secs(2),
        allowed_ranges: Vec::new(),
        schemes: AllowedSchemes::HttpsOnly,
        rules: <_>::default(),
    });
    WorkerSetDeps {
        shard,
        catalogue: watch::channel(Arc::new(Catalogue::new([]))).1,
        providers: Arc::new(Providers(HashMap::new())),
        callbacks: Arc::new(callbacks.unwrap()),
        files: Some(files),
        tracer: None,
        options: workers::Options {
            node: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
            name: "test".to_owned(),
            // No heartbeat renews it here, and only live nodes can claim.
            lease_duration: Duration::from_hours(1),
            packing: PackingLimits {
                max_items: 10,
                linger: TimeDelta::zero(),
            },
            account_slots: workers::AccountSlots::default(),
            callback_limits: CallbackLimits {
                slots: 64,
                per_destination: 16,
                payload_bytes: 1 << 20,
            },
            retry_schedule: domain::retry_schedule::RetrySchedule::default(),
            listener_timeout: None,
            signing_roots: None,
            retention: HistoryRetention::default(),
            spool_dir: std::env::temp_dir(),
            drain_timeout: Duration::from_secs(5),
        },
    }
}
