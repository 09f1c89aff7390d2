//! Master keys for services under test, and a search for text in their databases.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use domain::master_key::{MasterKeyFailure, MasterKeys};
use outbound::master_key::{CommandMasterKeys, FileMasterKeys, MasterKeyCommand};
use store::shard::project_keys;
use test_support::environment::optional_number;

use crate::support::files::TestFileBackends;
use crate::support::marker::find_text;
use crate::support::test_limits::TestLimits;
use crate::support::{DatabaseLayout, TestService};

/// With 1, every service under test encrypts.
const VARIABLE: &str = "LONGSHORE_TEST_ENCRYPTION";

/// The bytes 0 to 31.
const FIRST_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// A file with one master key for each id. The keys of different ids differ in their first byte.
pub(crate) fn file_master_keys(ids: &[u8]) -> Arc<FileMasterKeys> {
    let lines = ids.iter().map(|id| {
        let letter = char::from(b'A' + id);
        format!("{id} {letter}{}\n", &FIRST_KEY[1..])
    });
    Arc::new(FileMasterKeys::parse(&lines.collect::<String>()).unwrap())
}

/// A command that puts the id before the key, and encodes both. It protects nothing.
pub(crate) fn command_master_keys() -> Arc<CommandMasterKeys> {
    let script = r#"read line
        case $1 in
            wrap) printf '%s %s' "$2" "$line" | base64 -w0 ;;
            unwrap) printf '%s' "$line" | base64 -d | cut -d' ' -f2 ;;
        esac"#;
    let command = MasterKeyCommand {
        program: PathBuf::from("/bin/sh"),
        arguments: vec!["-c".to_owned(), script.to_owned(), "kms".to_owned()],
    };
    Arc::new(CommandMasterKeys::new(command, "key/1".to_owned()))
}

/// Master keys that fail while the test says so.
#[derive(Debug)]
pub(crate) struct FailingMasterKeys {
    keys: Arc<FileMasterKeys>,
    is_failing: AtomicBool,
}

impl FailingMasterKeys {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            keys: file_master_keys(&[1]),
            is_failing: AtomicBool::new(false),
        })
    }

    pub(crate) fn set_failing(&self, is_failing: bool) {
        self.is_failing.store(is_failing, Ordering::SeqCst);
    }

    fn check(&self) -> Result<(), MasterKeyFailure> {
        if self.is_failing.load(Ordering::SeqCst) {
            return Err(MasterKeyFailure::Unavailable("for a test".to_owned()));
        }
        Ok(())
    }
}

#[async_trait]
impl MasterKeys for FailingMasterKeys {
    fn current_id(&self) -> &str {
        self.keys.current_id()
    }

    async fn wrap_key(&self, plain: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        self.check()?;
        self.keys.wrap_key(plain).await
    }

    async fn unwrap_key(&self, id: &str, wrapped: &[u8]) -> Result<Vec<u8>, MasterKeyFailure> {
        self.check()?;
        self.keys.unwrap_key(id, wrapped).await
    }
}

/// The master keys of a run in which every service encrypts.
pub(crate) fn environment_master_keys() -> Option<Arc<dyn MasterKeys>> {
    let keys: Arc<dyn MasterKeys> = file_master_keys(&[1]);
    (optional_number(VARIABLE) == Some(1)).then_some(keys)
}

impl TestService {
    /// A service that never encrypts: a test can search for text as it is stored.
    pub(crate) async fn without_encryption() -> Self {
        let limits = TestLimits::default();
        Box::pin(Self::build(DatabaseLayout::Shared, limits, None, None)).await
    }

    /// A service that can encrypt. Encryption is off until the test switches it on.
    pub(crate) async fn with_master_keys(
        master_keys: Arc<dyn MasterKeys>,
        file_backends: Option<TestFileBackends>,
    ) -> Self {
        let limits = TestLimits::default();
        Box::pin(Self::build(
            DatabaseLayout::Shared,
            limits,
            file_backends,
            Some(master_keys),
        ))
        .await
    }

    pub(crate) async fn enable_encryption(&self) {
        for shard in self.shards() {
            project_keys::enable(&shard, self.now()).await.unwrap();
        }
    }

    /// The columns of all databases that contain this text.
    pub(crate) async fn find_text(&self, text: &str) -> BTreeSet<String> {
        let mut found = find_text(&self.control.pool, text).await;
        for shard in self.shards() {
            found.extend(find_text(&shard.pool, text).await);
        }
        found
    }
}
