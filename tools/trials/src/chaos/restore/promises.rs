//! What must hold although the database was restored: no file is deleted, no job is submitted
//! twice unknowingly, and erasures are repeated.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::chaos::restore::environment::{ACCOUNTS, RestoreEnvironment};
use crate::chaos::restore::lost_cargo::RecoveryReport;
use crate::harness::{FailureContext as _, Result, TrialVerdict};

async fn list_deleted_jobs(environment: &RestoreEnvironment) -> Result<BTreeSet<String>> {
    let mut deleted = BTreeSet::new();
    for account in ACCOUNTS {
        let path = account.admin_path("jobs");
        let list = environment.simulator.call_admin("GET", &path, None).await?;
        let list = list.as_array().context("the jobs are not a list")?;
        let gone = list
            .iter()
            .filter(|job| job.get("is_deleted").and_then(Value::as_bool) == Some(true));
        deleted.extend(gone.filter_map(|job| job.get("id")?.as_str().map(str::to_owned)));
    }
    Ok(deleted)
}

pub async fn count_submissions(environment: &RestoreEnvironment) -> Result<usize> {
    Ok(list_submissions(environment).await?.len())
}

async fn list_submissions(environment: &RestoreEnvironment) -> Result<Vec<Value>> {
    let mut submissions = Vec::new();
    for account in ACCOUNTS {
        let path = account.admin_path("submissions");
        let list = environment.simulator.call_admin("GET", &path, None).await?;
        let list = list.as_array().context("the submissions are not a list")?;
        submissions.extend(list.iter().cloned());
    }
    Ok(submissions)
}

pub async fn list_file_keys(environment: &RestoreEnvironment) -> Result<BTreeSet<String>> {
    let keys = environment.objects.bucket.list_keys().await?;
    let is_file = |key: &String| key.contains("files/");
    Ok(keys.into_iter().filter(is_file).collect())
}

pub async fn judge_keys(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    keys: &BTreeSet<String>,
    when: &str,
) -> Result<()> {
    let left = list_file_keys(environment).await?;
    let gone: Vec<String> = keys.difference(&left).cloned().collect();
    verdict
        .record(&format!("files_{}", when.replace(' ', "_")), left.len())
        .check_none(format!("no file is deleted {when}"), "deleted", &gone);
    Ok(())
}

/// A job whose items are submitted again was named by the report and cancelled.
pub async fn judge_submissions(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    report: &RecoveryReport,
) -> Result<()> {
    let mut jobs: HashMap<String, Vec<String>> = HashMap::new();
    for submission in list_submissions(environment).await? {
        let text = |name: &str| submission.get(name).and_then(Value::as_str);
        if let (Some(job), Some(items)) = (text("job"), text("ids_sha256")) {
            jobs.entry(items.to_owned())
                .or_default()
                .push(job.to_owned());
        }
    }
    let created: usize = jobs.values().map(Vec::len).sum();
    let repeated = jobs.values().flat_map(|same| {
        let earlier = same.len().saturating_sub(1);
        same.iter().take(earlier)
    });
    let unreported = repeated.filter(|job| !report.jobs.contains(*job));
    // Their results were collected before the restore, and no provider lists them any more.
    let deleted = list_deleted_jobs(environment).await?;
    let (gone, unknown): (Vec<String>, Vec<String>) =
        unreported.cloned().partition(|job| deleted.contains(job));
    verdict.record("submitted_again_after_deletion", gone.len());
    verdict.record("jobs", created).check_none(
        "no job is submitted twice unknowingly",
        "submitted_twice",
        &unknown,
    );
    Ok(())
}

pub async fn judge_erasure(
    verdict: &mut TrialVerdict,
    environment: &RestoreEnvironment,
    project: &str,
) -> Result<()> {
    let digits = project.rsplit('_').next().unwrap_or_default();
    let server = environment.service.database_server()?;
    let mut control = server.connect("control").await?;
    let query = "select erased_at is not null from control.project where id = $1::text::uuid";
    let erased: std::result::Result<bool, _> = sqlx::query_scalar(query)
        .bind(digits)
        .fetch_one(&mut control)
        .await;
    let erased = erased.context("reading the erased project")?;
    verdict.check("an erasure of the later half is repeated", erased);
    Ok(())
}
