//! A shard, a store, a scanner and a crew that proves files, for one test.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use domain::file::{DEFAULT_TTL, Declared, MediaType};
use domain::id::{Berth, FileId, OrganizationId, ProjectId};
use domain::model::Catalogue;
use domain::storage::{StorageQuota, Stored};
use domain::time::{Clock as _, Timestamp};
use outbound::callback::Callbacks;
use outbound::health::{Condition, FilesHealth};
use outbound::objects::{Area, Objects, Options};
use outbound::probe::Prober;
use outbound::scanner::{Address, Scanner};
use store::Shard;
use store::shard::file::{self, Completed, Created, File, NewFile, Part};
use store::shard::{account, node};
use tokio::sync::watch;
use workers::{CallbackLimits, Crew, Files, Packing, Parts, Providers, Slots};

use crate::database::{Database, HandMoved};
use crate::setting;
use crate::storage::{digest, objects_with, options, post, send};

const SCANNER: &str = "LONGSHORE_TEST_SCANNER";

pub(crate) struct World {
    pub(crate) shard: Arc<Shard>,
    pub(crate) clock: Arc<HandMoved>,
    pub(crate) objects: Objects,
    pub(crate) options: Options,
    pub(crate) crew: Crew,
    pub(crate) parts: Parts,
    pub(crate) health: watch::Sender<FilesHealth>,
    pub(crate) organization: OrganizationId,
    pub(crate) project: ProjectId,
    _database: Database,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(|files| files).await
    }

    /// One whose crew has other means than usual.
    pub(crate) async fn with(change: impl FnOnce(Files) -> Files) -> Self {
        let database = Database::new().await;
        let (shard, clock) = (database.shard.clone(), database.clock.clone());
        let well = FilesHealth {
            store: Condition::Well,
            scanner: Condition::Well,
        };
        let (health, watched) = watch::channel(well);
        let options = options();
        let objects = connect(&options, &options.internal).await;
        let files = change(files(objects.clone(), watched));
        let parts = parts(shard.clone(), files);
        let crew = Crew::join(parts.clone()).await.unwrap();
        let berth = Berth::new(0x0a1).unwrap();
        let now = clock.now();
        let organization = OrganizationId::new(now, berth, rand::random());
        account::open(&shard, organization, now).await.unwrap();
        Self {
            shard,
            clock,
            objects,
            options,
            crew,
            parts,
            health,
            organization,
            project: ProjectId::new(now, berth, rand::random()),
            _database: database,
        }
    }

    /// Another worker process.
    pub(crate) async fn another_crew(&self, change: impl FnOnce(Files) -> Files) -> Crew {
        let mut parts = self.parts.clone();
        parts.files = parts.files.map(change);
        parts.options.node = uuid::Uuid::from_u64_pair(rand::random(), rand::random());
        Crew::join(parts).await.unwrap()
    }

    /// Takes everyone's lease away, as ten silent seconds would.
    pub(crate) async fn bury(&self) {
        let statement = "update shard.node set seen_until = clock_timestamp() - interval '1 second'
                         where dead_at is null";
        sqlx::raw_sql(statement)
            .execute(&self.shard.pool)
            .await
            .unwrap();
        node::bury_dead(&self.shard).await.unwrap();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// A session for these bytes.
    pub(crate) async fn session(&self, bytes: &[u8], media_type: MediaType) -> File {
        let created = self.create(declared(bytes, media_type)).await;
        session(created).unwrap()
    }

    pub(crate) async fn create(&self, declared: Declared) -> Created {
        let (berth, now) = (self.organization.berth(), self.now());
        let new = NewFile {
            id: FileId::new(now, berth, rand::random()),
            organization: self.organization,
            project: self.project,
            filename: "manifest".to_owned(),
            declared,
            ttl_seconds: DEFAULT_TTL,
            metadata: None,
            part_checksums: None,
        };
        let created = file::create(&self.shard, &new, StorageQuota::default(), now).await;
        created.unwrap()
    }

    /// Puts bytes into staging, declared or not.
    pub(crate) async fn stage(&self, file: &File, bytes: &[u8]) {
        let grant = self
            .objects
            .post_grant(file.id, &declared(bytes, file.media_type));
        let sent = post(&grant, bytes).await;
        assert_eq!(sent.status / 100, 2, "{sent:?}");
    }

    /// Puts bytes up in parts, and says what a caller lists of them.
    pub(crate) async fn stage_parts(&self, file: &File, parts: &[&[u8]]) -> Vec<Part> {
        let begun = self
            .objects
            .begin_multipart(file.id, file.media_type, false)
            .await;
        let upload = begun.unwrap();
        assert!(
            file::keep_upload(&self.shard, file.id, &upload)
                .await
                .unwrap()
        );
        let mut listed = Vec::new();
        for (number, bytes) in (1..).zip(parts) {
            let etag = self.put_part(file, &upload, number, bytes).await;
            let checksum = Some(digest(bytes));
            listed.push(Part { etag, checksum });
        }
        listed
    }

    async fn put_part(&self, file: &File, upload: &str, number: u32, bytes: &[u8]) -> String {
        // Signed for the length of these bytes, whichever was declared.
        let before = u64::from(number - 1) * domain::upload::PART_BYTES;
        let size = before + u64::try_from(bytes.len()).unwrap();
        let grants = self
            .objects
            .part_grants(file.id, upload, size, &[number], None);
        let sent = send("PUT", &grants.parts[0].1, &[], bytes).await;
        assert_eq!(sent.status, 200, "{sent:?}");
        sent.header("etag").unwrap()
    }

    pub(crate) async fn complete(&self, file: &File, parts: Option<&[Part]>) {
        let completed = file::complete(&self.shard, self.project, file.id, parts, self.now()).await;
        assert!(matches!(completed.unwrap(), Completed::Begun(_)));
    }

    /// Uploaded and completed, and not yet looked at.
    pub(crate) async fn uploaded(&self, bytes: &[u8], media_type: MediaType) -> File {
        let file = self.session(bytes, media_type).await;
        self.stage(&file, bytes).await;
        self.complete(&file, None).await;
        file
    }

    pub(crate) async fn scan(&mut self) {
        let now = self.now();
        self.crew.scan.settle(now).await.unwrap();
    }

    pub(crate) async fn find(&self, file: &File) -> File {
        let found = file::find(&self.shard, self.project, file.id).await;
        found.unwrap().unwrap()
    }

    /// The status, and what is wrong.
    pub(crate) async fn status(&self, file: &File) -> String {
        let file = self.find(file).await;
        let flaw = file.failure_reason.map_or("-", domain::file::Flaw::as_str);
        format!(
            "{} {flaw} {}",
            file.status.as_str(),
            file.scan_status.as_str()
        )
    }

    /// How many objects lie in the store: in staging and published.
    pub(crate) async fn stored(&self) -> (usize, usize) {
        let berth = self.organization.berth();
        let staged = self.objects.list(Area::Staging, berth, None).await.unwrap();
        let published = self
            .objects
            .list(Area::Published, berth, None)
            .await
            .unwrap();
        (staged.objects.len(), published.objects.len())
    }

    pub(crate) async fn open_uploads(&self) -> usize {
        let open = self.objects.list_uploads(self.organization.berth()).await;
        open.unwrap().len()
    }

    /// What the organization stores by the rows.
    pub(crate) async fn counted(&self) -> Stored {
        let row = "select array[files, bytes] from shard.storage where organization = $1";
        let row = sqlx::query_scalar::<_, Vec<i64>>(row).bind(self.organization.uuid());
        let row = row.fetch_one(&self.shard.pool).await.unwrap();
        Stored {
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

/// The same place in the store, reached at another address.
pub(crate) async fn connect(options: &Options, at: &url::Url) -> Objects {
    let (internal, options) = (at.clone(), options.clone());
    objects_with(Options {
        internal,
        ..options
    })
    .await
}

pub(crate) fn session(created: Created) -> Option<File> {
    match created {
        Created::Session(file) => Some(file),
        Created::Duplicate(_) | Created::Refused(_) => None,
    }
}

pub(crate) fn declared(bytes: &[u8], media_type: MediaType) -> Declared {
    Declared {
        media_type,
        size_bytes: u64::try_from(bytes.len()).unwrap(),
        sha256: digest(bytes),
    }
}

pub(crate) fn scanner() -> Scanner {
    let address = setting(SCANNER);
    scanner_at(address.strip_prefix("tcp://").unwrap())
}

pub(crate) fn scanner_at(address: &str) -> Scanner {
    Scanner::new(Address::Tcp(address.to_owned()), Duration::from_secs(30))
}

fn files(objects: Objects, health: watch::Receiver<FilesHealth>) -> Files {
    Files {
        objects,
        scanner: scanner(),
        prober: Prober::new(PathBuf::from(env!("CARGO_BIN_EXE_longshored"))),
        slots: Slots { small: 8, large: 2 },
        abandon: TimeDelta::days(1),
        patrol: TimeDelta::hours(1),
        // The store's moments are real ones: to a test, all of them are long ago.
        grace: TimeDelta::hours(-1),
        health,
    }
}

fn parts(shard: Arc<Shard>, files: Files) -> Parts {
    let callbacks = Callbacks::new(outbound::callback::Options {
        timeout: Duration::from_secs(2),
        allow: Vec::new(),
    });
    Parts {
        shard,
        catalogue: watch::channel(Arc::new(Catalogue::new([]))).1,
        providers: Arc::new(Providers(HashMap::new())),
        callbacks: Arc::new(callbacks.unwrap()),
        files: Some(files),
        options: workers::Options {
            node: uuid::Uuid::from_u64_pair(rand::random(), rand::random()),
            name: "test".to_owned(),
            // Nothing renews it here: claims are made by nodes that are alive.
            lease: Duration::from_hours(1),
            packing: Packing {
                most_items: 10,
                linger: TimeDelta::zero(),
            },
            account_slots: workers::AccountSlots::default(),
            callback_limits: CallbackLimits {
                slots: 64,
                per_destination: 16,
                payload_bytes: 1 << 20,
            },
            schedule: domain::delivery::Schedule::default(),
            retention: TimeDelta::days(30),
            spools: std::env::temp_dir(),
            drain: Duration::from_secs(5),
        },
    }
}
