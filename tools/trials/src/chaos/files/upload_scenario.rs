//! One upload from its session to its end, with one kind of fault.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chaos::files::fault_kind::UploadFaultKind;
use crate::harness::http::files_client;
use crate::harness::sample_files;
use crate::harness::servers::clamd;
use crate::harness::{FilesClient, FilesResponse, GeneratedVideo, SampleFile, UploadContent};

mod parts;

const MEBIBYTE: u64 = 1 << 20;
/// From the settings of the trial: one second before a session is abandoned, and how long a
/// grant is valid.
const BEFORE_ABANDON: Duration = Duration::from_secs(14);
const GRANT_LIFETIME: Duration = Duration::from_secs(20);
/// A session that completes later may have been swept.
const MAX_COMPLETE_DELAY: Duration = Duration::from_secs(11);
/// Callers give up after this; it counts as a broken promise.
const GIVE_UP_AFTER: Duration = Duration::from_mins(5);
const RETRY_DELAY: Duration = Duration::from_millis(200);

/// How the upload must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpectedEnd {
    Ready,
    NotReady,
    /// Ready, failed or expired.
    #[default]
    AnyEnd,
}

#[derive(Debug, Default)]
pub struct UploadRecord {
    pub fault: UploadFaultKind,
    /// The index of its client.
    pub client: usize,
    /// None if there was no session.
    pub file_id: Option<String>,
    pub expected: ExpectedEnd,
    /// It had to be ready, but was so slow that the sweep may have come first.
    pub is_late: bool,
    /// The last responses.
    pub details: String,
}

/// How the file must end, and the last responses. If the store refuses the upload, the error says
/// why, and the file must not be ready.
type ScenarioResult = Result<(ExpectedEnd, String), String>;

/// An upload session. It began at `opened_at` or later.
struct UploadSession<'a> {
    client: &'a FilesClient,
    content: UploadContent,
    file_id: String,
    grant: Value,
    opened_at: Instant,
    /// When `complete` was first answered: from then on the file is not swept.
    completed_at: OnceLock<Instant>,
}

pub async fn run_scenario(caller: &FilesClient, place: usize, number: usize) -> UploadRecord {
    let fault = UploadFaultKind::nth(number);
    let mut record = UploadRecord {
        fault,
        client: place,
        ..UploadRecord::default()
    };
    let content = build_content(fault, number);
    match open_session(caller, content).await {
        Err(response) => record.details = response.summary(),
        Ok(session) => {
            record.file_id = Some(session.file_id.clone());
            let ended = session.run(fault).await;
            let (expected, note) = ended.unwrap_or_else(|refused| (ExpectedEnd::NotReady, refused));
            record.details = note;
            // The sweep cannot tell a slow caller from a missing one.
            let completed = session
                .completed_at
                .get()
                .copied()
                .unwrap_or_else(Instant::now);
            record.is_late = expected == ExpectedEnd::Ready
                && completed > session.opened_at + MAX_COMPLETE_DELAY;
            record.expected = if record.is_late {
                ExpectedEnd::AnyEnd
            } else {
                expected
            };
        }
    }
    record
}

fn build_content(fault: UploadFaultKind, number: usize) -> UploadContent {
    if fault.is_multipart() {
        let large = [9, 17].get(number % 2).copied().unwrap_or(9);
        // Swapping parts needs a second part.
        let size = if matches!(
            fault,
            UploadFaultKind::SwappedParts | UploadFaultKind::MissingPart
        ) {
            17
        } else {
            large
        };
        return GeneratedVideo::new(size * MEBIBYTE + 12_345).into();
    }
    let sample = if fault == UploadFaultKind::WrongType {
        SampleFile {
            media_type: "image/jpeg",
            ..SampleFile::nth(1)
        }
    } else if fault == UploadFaultKind::Infected {
        SampleFile::from_text([sample_files::unique_text(), clamd::eicar_test_file()].concat())
    } else {
        // Faults and media types repeat with different periods, so all pairs occur.
        SampleFile::nth(number)
    };
    sample.into()
}

/// Asks for a session until there is one.
async fn open_session(
    caller: &FilesClient,
    content: UploadContent,
) -> Result<UploadSession<'_>, FilesResponse> {
    let started = Instant::now();
    loop {
        let begun = Instant::now();
        let response = caller.create_file(&content).await;
        if response.status == 201 {
            return Ok(UploadSession {
                file_id: response.string_field("id").to_owned(),
                grant: response.upload_grant().clone(),
                client: caller,
                content,
                opened_at: begun,
                completed_at: OnceLock::new(),
            });
        }
        let may_come_later =
            response.is_retryable() || response.string_field("error") == "too_many_upload_sessions";
        if !may_come_later || started.elapsed() > GIVE_UP_AFTER {
            return Err(response);
        }
        tokio::time::sleep(RETRY_DELAY).await;
    }
}

impl UploadSession<'_> {
    async fn run(&self, fault: UploadFaultKind) -> ScenarioResult {
        match fault {
            UploadFaultKind::Plain | UploadFaultKind::Multipart => self.upload_and_complete().await,
            UploadFaultKind::WrongType | UploadFaultKind::Infected => {
                let (_, note) = self.upload_and_complete().await?;
                Ok((ExpectedEnd::NotReady, note))
            }
            UploadFaultKind::WrongBytes => {
                let stored = self.post_form(self.altered_bytes()).await;
                let (_, note) = self.complete_until_final(&json!({})).await;
                Ok((ExpectedEnd::NotReady, format!("stored {stored:?}; {note}")))
            }
            UploadFaultKind::HalfForm => {
                let cut =
                    files_client::post_half_form(&self.grant, &self.content.all_bytes()).await;
                let (_, note) = self.complete_until_final(&json!({})).await;
                Ok((ExpectedEnd::NotReady, format!("cut {cut:?}; {note}")))
            }
            UploadFaultKind::CompletedTwice => self.complete_twice().await,
            UploadFaultKind::Overwritten => self.overwrite_while_validating().await,
            UploadFaultKind::Replayed => self.replay_grant().await,
            UploadFaultKind::Deleted => self.delete_while_validating().await,
            UploadFaultKind::CompletedNearAbandon => self.complete_near_abandon().await,
            UploadFaultKind::Abandoned => {
                let uploaded = self.upload().await;
                Ok((ExpectedEnd::NotReady, format!("uploaded {uploaded:?}")))
            }
            UploadFaultKind::Duplicate => self.upload_duplicate().await,
            UploadFaultKind::Refreshed => self.refresh_grant().await,
            UploadFaultKind::ExpiredGrant => {
                tokio::time::sleep(GRANT_LIFETIME + Duration::from_secs(2)).await;
                let stored = self.post_form(self.content.all_bytes()).await;
                let response = self.client.complete_file(&self.file_id, &json!({})).await;
                let note = format!("stored {stored:?}; {}", response.summary());
                Ok((ExpectedEnd::NotReady, note))
            }
            UploadFaultKind::SwappedParts | UploadFaultKind::MissingPart => {
                self.complete_with_bad_parts(fault).await
            }
            UploadFaultKind::OverwrittenPart => self.overwrite_part_while_validating().await,
        }
    }

    /// Posts these bytes with the grant; returns the status.
    async fn post_form(&self, bytes: bytes::Bytes) -> Result<u16, String> {
        self.client.post_form(&self.grant, bytes).await
    }

    async fn upload(&self) -> Result<Value, String> {
        self.client.upload_all(&self.grant, &self.content).await
    }

    async fn upload_and_complete(&self) -> ScenarioResult {
        let listed = self.upload().await?;
        Ok(self.complete_until_final(&listed).await)
    }

    /// Calls `complete` until the file has reached its final status.
    async fn complete_until_final(&self, listed: &Value) -> (ExpectedEnd, String) {
        let started = Instant::now();
        loop {
            let response = self.client.complete_file(&self.file_id, listed).await;
            if !response.is_retryable() {
                self.completed_at.get_or_init(Instant::now);
            }
            if response.status != 202 && !response.is_retryable() {
                return (ExpectedEnd::Ready, response.summary());
            }
            if started.elapsed() > GIVE_UP_AFTER {
                return (
                    ExpectedEnd::Ready,
                    format!("gave up: {}", response.summary()),
                );
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn complete_twice(&self) -> ScenarioResult {
        self.upload().await?;
        let body = json!({});
        let ((expected, first), (_, second)) = tokio::join!(
            self.complete_until_final(&body),
            self.complete_until_final(&body)
        );
        Ok((expected, format!("{first}; {second}")))
    }

    async fn overwrite_while_validating(&self) -> ScenarioResult {
        self.upload().await?;
        let again = async {
            let mut statuses = Vec::new();
            for _ in 0..3 {
                statuses.push(self.post_form(self.altered_bytes()).await);
                statuses.push(self.post_form(self.content.all_bytes()).await);
            }
            statuses
        };
        let body = json!({});
        let ((expected, note), statuses) = tokio::join!(self.complete_until_final(&body), again);
        Ok((expected, format!("{note}; {statuses:?}")))
    }

    async fn replay_grant(&self) -> ScenarioResult {
        for _ in 0..2 {
            self.upload().await?;
        }
        let ended = self.complete_until_final(&json!({})).await;
        // These bytes stay in staging, without a row, until they are swept.
        let _ = self.upload().await;
        Ok(ended)
    }

    async fn delete_while_validating(&self) -> ScenarioResult {
        self.upload().await?;
        let delete = async {
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..120))).await;
            self.delete_until_answered().await
        };
        let body = json!({});
        let ((_, note), response) = tokio::join!(self.complete_until_final(&body), delete);
        let note = format!("{note}; {}", response.summary());
        Ok((ExpectedEnd::NotReady, note))
    }

    async fn delete_until_answered(&self) -> FilesResponse {
        loop {
            let response = self.client.delete_file(&self.file_id).await;
            if !response.is_retryable() {
                return response;
            }
            tokio::time::sleep(RETRY_DELAY).await;
        }
    }

    async fn complete_near_abandon(&self) -> ScenarioResult {
        self.upload().await?;
        let spread = Duration::from_millis(rand::random_range(0..2000));
        let at = self.opened_at + BEFORE_ABANDON + spread;
        tokio::time::sleep_until(at.into()).await;
        let (_, note) = self.complete_until_final(&json!({})).await;
        Ok((ExpectedEnd::AnyEnd, note))
    }

    async fn upload_duplicate(&self) -> ScenarioResult {
        let first = self.upload_and_complete().await;
        let (again, gone) = tokio::join!(self.client.create_file(&self.content), async {
            tokio::time::sleep(Duration::from_millis(rand::random_range(0..20))).await;
            self.delete_until_answered().await
        });
        // The second upload is independent; the first is deleted in any case.
        if again.status == 201 {
            let id = again.string_field("id").to_owned();
            let uploaded = self
                .client
                .upload_all(again.upload_grant(), &self.content)
                .await;
            if let Ok(listed) = uploaded {
                self.client.complete_file(&id, &listed).await;
            }
        }
        let note = format!("{first:?}; {}; {}", again.summary(), gone.summary());
        Ok((ExpectedEnd::NotReady, note))
    }

    async fn refresh_grant(&self) -> ScenarioResult {
        let response = self.client.refresh_parts(&self.file_id).await;
        let upload = if response.status == 200 {
            response.upload_grant()
        } else {
            &self.grant
        };
        let listed = self.client.upload_all(upload, &self.content).await?;
        Ok(self.complete_until_final(&listed).await)
    }

    fn altered_bytes(&self) -> bytes::Bytes {
        let mut bytes = self.content.all_bytes().to_vec();
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
        bytes.into()
    }
}
