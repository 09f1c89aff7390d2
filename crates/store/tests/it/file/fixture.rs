//! A fixture: a shard with organizations that store files, and short helpers for file operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::file::{FileDeclaration, FileStructure, MediaType, ReferencedFile, Sha256};
use domain::hold::Hold;
use domain::id::{ApiKeyId, Berth, CargoId, FileId, OrganizationId, ProjectId};
use domain::lane::{Lane, LaneId};
use domain::model::ModelKind;
use domain::response_shape::ResponseShape;
use domain::storage_quota::{StorageQuota, StorageUsage};
use domain::time::{Clock as _, Timestamp};
use domain::token_buckets::TokenBuckets;
use store::encryption::WriteKeys;
use store::shard::file::{
    self, FileCreation, FileDeletion, FileRow, FileSizeClass, NewFile, PublishResult,
    UploadCompletion,
};
use store::shard::load::NewCargo;
use store::shard::node::Claim;
use store::shard::outcome::{ExpectedCargoState, NewOutcome};
use store::shard::{account, lane, load, node, outcome, storage};
use store::{Error, Shard, body};
use test_support::clock::ManualClock;
use test_support::database::TestDatabase;
use uuid::Uuid;

pub(super) const UNLIMITED: StorageQuota = StorageQuota {
    files: None,
    bytes: None,
};
pub(super) const TTL: u32 = 3_600;
const CONNECTIONS: u32 = 16;

pub(super) struct FileFixture {
    pub(super) database: TestDatabase,
    /// With connections for many concurrent operations.
    pub(super) shard: Arc<Shard>,
    pub(super) claim: Claim,
    lane: LaneId,
    made: AtomicU64,
}

impl FileFixture {
    pub(super) async fn new() -> Arc<Self> {
        let database = TestDatabase::new().await;
        let shard = connect(&database, CONNECTIONS);
        let claim = node::join(&shard, Uuid::from_u128(1), "one", 3600.0).await;
        let wanted = Lane {
            provider: "mock".to_owned(),
            model: "m".to_owned(),
            kind: ModelKind::Chat,
            via: domain::route::InferenceMode::Batch,
        };
        let lane = lane::ensure(&shard, &wanted).await.unwrap();
        let fixture = Self {
            database,
            claim: claim.unwrap(),
            lane,
            shard,
            made: AtomicU64::new(0),
        };
        for number in 0..4 {
            let opened = account::open(&fixture.shard, organization(number), fixture.now());
            opened.await.unwrap();
        }
        Arc::new(fixture)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.database.clock.now()
    }

    pub(super) fn file_id(&self) -> FileId {
        FileId::new(self.now(), berth(), self.number())
    }

    pub(super) fn number(&self) -> u64 {
        self.made.fetch_add(1, Ordering::SeqCst)
    }

    /// Creates a file: a session, a duplicate or a refusal.
    pub(super) async fn create(
        &self,
        project: ProjectId,
        declared: FileDeclaration,
        quota: StorageQuota,
    ) -> FileCreation {
        let new = NewFile {
            id: self.file_id(),
            organization: owner(project),
            project,
            filename: "a name".to_owned(),
            declared,
            ttl_seconds: TTL,
            metadata: None,
            part_checksums: None,
        };
        let created = file::create(&self.shard, &new, quota, self.now()).await;
        created.unwrap()
    }

    pub(super) async fn session(&self, project: ProjectId, declared: FileDeclaration) -> FileRow {
        let created = match self.create(project, declared, UNLIMITED).await {
            FileCreation::Session(file) => Some(file),
            FileCreation::Duplicate(_) | FileCreation::Refused(_) => None,
        };
        created.unwrap()
    }

    pub(super) async fn complete(&self, file: &FileRow) {
        let completed = file::complete(&self.shard, file.project, file.id, None, self.now()).await;
        assert!(matches!(
            completed.unwrap(),
            UploadCompletion::ValidationStarted(_)
        ));
    }

    /// A file that this node has claimed for the scan.
    pub(super) async fn validating(
        &self,
        project: ProjectId,
        declared: FileDeclaration,
    ) -> FileRow {
        let file = self.session(project, declared).await;
        self.complete(&file).await;
        let claimed = file::claim(
            &self.shard,
            self.claim,
            FileSizeClass::Small,
            100,
            self.now(),
        )
        .await;
        let claimed = claimed.unwrap().into_iter().map(|claimed| claimed.file);
        claimed.into_iter().find(|it| it.id == file.id).unwrap()
    }

    pub(super) async fn publish(&self, file: &FileRow) -> PublishResult {
        let published = file::publish(
            &self.shard,
            file,
            self.claim,
            FileStructure::Text,
            self.now(),
        );
        published.await.unwrap()
    }

    pub(super) async fn ready(&self, project: ProjectId, declared: FileDeclaration) -> FileRow {
        let file = self.validating(project, declared).await;
        let published = self.publish(&file).await;
        assert!(matches!(published, PublishResult::Ready { .. }));
        self.find(&file).await
    }

    pub(super) async fn find(&self, file: &FileRow) -> FileRow {
        let found = file::find(&self.shard, file.project, file.id).await;
        found.unwrap().unwrap()
    }

    pub(super) async fn delete(&self, file: &FileRow, force: bool) -> FileDeletion {
        let deleted = file::delete(&self.shard, file.project, file.id, force, self.now());
        deleted.await.unwrap()
    }

    pub(super) async fn stored(&self, organization: OrganizationId) -> StorageUsage {
        storage::find(&self.shard, organization).await.unwrap()
    }

    pub(super) async fn assert_no_faults(&self) {
        let faults = file::audit::check(&self.shard).await.unwrap();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    /// A load that references files, as the writer stores it. None when one of them is not ready.
    pub(super) async fn load(
        &self,
        project: ProjectId,
        files: &[FileId],
    ) -> Result<Option<CargoId>, Error> {
        let (now, organization) = (self.now(), owner(project));
        let cargo = NewCargo {
            id: CargoId::new(now, berth(), self.number()),
            organization,
            project,
            key: ApiKeyId::new(now, berth(), 1),
            lane: self.lane,
            model: "m".to_owned(),
            callback: None,
            request: body::pack(b"{}"),
            metadata: None,
            idempotency: None,
            hold: Hold::default(),
            spending_key: None,
            files: files.to_vec(),
            response_shape: ResponseShape::default(),
            warnings: None,
            deadline_at: None,
            route_reason: None,
            trace: None,
            custom_id: None,
            member: None,
        };
        let id = cargo.id;
        let mut tx = self.shard.begin().await?;
        account::lock_all(&mut tx, &[organization]).await?;
        let found = file::reference::lock(&mut tx, files).await?;
        let is_ready = |id| {
            found
                .get(id)
                .is_some_and(|it: &ReferencedFile| it.is_ready(now))
        };
        if !files.iter().all(is_ready) {
            tx.rollback().await?;
            return Ok(None);
        }
        let keys = WriteKeys::plain([project]);
        load::insert(&mut tx, vec![cargo], &keys, now).await?;
        tx.commit().await?;
        Ok(Some(id))
    }

    /// Stores outcomes for waiting cargo.
    pub(super) async fn finish(&self, cargo: &[CargoId]) -> Result<usize, Error> {
        let outcomes = cargo.iter().map(|cargo| outcome(*cargo));
        let (expected, claim) = (ExpectedCargoState::Waiting, self.claim);
        let outcomes = outcomes.collect();
        let stored = outcome::record(&self.shard, expected, claim, outcomes, self.now()).await?;
        Ok(stored.len())
    }

    pub(super) const fn lane(&self) -> LaneId {
        self.lane
    }
}

pub(super) fn connect(database: &TestDatabase, connections: u32) -> Arc<Shard> {
    let clock = Arc::<ManualClock>::clone(&database.clock);
    Arc::new(Shard::connect_lazily("main", &database.url(), connections, clock).unwrap())
}

pub(super) fn outcome(cargo: CargoId) -> NewOutcome {
    NewOutcome {
        cargo,
        // Only encryption needs it, and that is off here.
        project: Uuid::nil().into(),
        attempt: 1,
        success: true,
        failure_code: None,
        body: body::pack(b"{}"),
        usage: TokenBuckets::default(),
        cost: None,
        served: None,
        realtime: None,
        claim_delivery: false,
    }
}

pub(super) fn berth() -> Berth {
    Berth::new(7).unwrap()
}

pub(super) fn organization(number: u64) -> OrganizationId {
    OrganizationId::new(Timestamp::UNIX_EPOCH, berth(), number)
}

/// Each organization has a hundred projects.
pub(super) fn project(number: u64) -> ProjectId {
    ProjectId::new(Timestamp::UNIX_EPOCH, berth(), number)
}

pub(super) fn owner(project: ProjectId) -> OrganizationId {
    let (_, low) = project.uuid().as_u64_pair();
    organization((low & 0xffff) / 100)
}

/// Different contents are different bytes.
pub(super) fn text(content: u8, size_bytes: u64) -> FileDeclaration {
    FileDeclaration {
        media_type: MediaType::Text,
        size_bytes,
        sha256: Sha256([content; 32]),
    }
}
